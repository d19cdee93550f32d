"""The service: jobs that survive the process, an HTTP API with keys and limits, health and metrics.

Imports nothing, so that its client and the command line stay light. A job's life, from below:

    records    values: a job, its states, a page record as bytes
    tables     the database's tables; opening it
    store      JobStore: every change of a job is one transaction
    folder     the work folder: one owner at a time, uploads under names of ours, encrypted if a key is set
    ordering   who comes next, how far that is, and when
    reading    a document's events; a lack of memory is raised, not noted on a page
    drift      late pages against early ones
    worker     threads that take jobs from the store and write pages into it
    live       the text of the page being read now, for those who watch
    service    all of it together, started and stopped as one
    listening  the socket and the server on it
    keys, auth, limits, guards    who may ask, how often, how much
    intake, sources               a document on its way in
    api, job_routes, chat, watching, health, metrics    what is answered over HTTP
    client     the other end
"""
