"""Every failure a user can cause or must know about. Each class names its HTTP status and exit code.

Messages name the thing, the value and the remedy; they never hold a path of the server or a password.
"""


class OCRError(Exception):
    """Base of all errors that are shown to a user."""

    http_status = 500
    exit_code = 1


class ConfigError(OCRError):
    """A setting is unknown or out of range. `setting` is its bare name where one value is to blame."""

    http_status = 422
    exit_code = 3

    def __init__(self, message: str, setting: str | None = None) -> None:
        super().__init__(message)
        self.setting = setting


class UnsupportedFileError(OCRError):
    """The bytes are neither a PDF nor an image that can be read."""

    http_status = 415
    exit_code = 4


class EmptyFileError(UnsupportedFileError):
    """The file has no bytes."""


class PasswordRequiredError(OCRError):
    """The document is encrypted and no password was given."""

    http_status = 401
    exit_code = 5


class WrongPasswordError(PasswordRequiredError):
    """The document is encrypted and the password does not open it."""

    http_status = 403


class DamagedFileError(OCRError):
    """The file starts like a document, but its pages cannot be found."""

    http_status = 422
    exit_code = 6


class NoPagesError(DamagedFileError):
    """The document opens and has no page, or none of the pages asked for."""


class PageRangeError(OCRError):
    """The page range cannot be understood or lies outside the document."""

    http_status = 422
    exit_code = 7


class TooLargeError(OCRError):
    """The file, a page or the number of pages is over a limit."""

    http_status = 413
    exit_code = 8


class PageRenderError(OCRError):
    """One page could not be drawn: it crashed, ran out of memory or took too long. The rest of the document
    goes on.
    """

    http_status = 422
    exit_code = 9


class ModelMissingError(OCRError):
    """The weights of the chosen model are not there, or are not the ones expected."""

    http_status = 503
    exit_code = 10


class BackendUnavailableError(OCRError):
    """An attention backend or device was asked for that this machine does not have."""

    http_status = 503
    exit_code = 11


class OutOfMemoryError(OCRError):
    """The KV cache or the device has no room left for what was asked."""

    http_status = 507
    exit_code = 12


class NonFiniteLogitsError(OCRError):
    """The decoder produced NaN or infinity; the message names dtype and step."""

    http_status = 500
    exit_code = 13


class FileMissingError(OCRError):
    """There is no file where one was named."""

    http_status = 404
    exit_code = 14


class OutputError(OCRError):
    """The result cannot be written where it was asked for."""

    http_status = 500
    exit_code = 15


class BrowserMissingError(OCRError):
    """Training pages of HTML were asked for, and there is no browser to print them."""

    http_status = 503
    exit_code = 16


class NotSignedInError(OCRError):
    """A key is needed and none, or none that is known, was sent."""

    http_status = 401
    exit_code = 17


class NotAllowedError(OCRError):
    """The key may not do this, or the request comes from a place it may not come from."""

    http_status = 403
    exit_code = 18


class NoSuchJobError(OCRError):
    """There is no such job, key or page, or it belongs to somebody else."""

    http_status = 404
    exit_code = 19


class NotReadyError(OCRError):
    """The job has not got as far as what was asked for, or is over already."""

    http_status = 409
    exit_code = 20


class BadRequestError(OCRError):
    """A request cannot be understood, or lacks what it needs."""

    http_status = 422
    exit_code = 21


class TooManyRequestsError(OCRError):
    """A limit of requests, pages or waiting jobs is reached."""

    http_status = 429
    exit_code = 22


class RequestTimeoutError(OCRError):
    """The body of a request came too slowly."""

    http_status = 408
    exit_code = 23


class InfectedFileError(OCRError):
    """The operator's scanner refused the file."""

    http_status = 422
    exit_code = 24


class JobTimeoutError(OCRError):
    """A job took longer than its time cap."""

    http_status = 504
    exit_code = 25


class SourceError(OCRError):
    """A document named by URL or path may not be fetched, or could not be."""

    http_status = 422
    exit_code = 26


class ServiceFolderError(OCRError):
    """The work folder cannot be used, or another service uses it."""

    http_status = 503
    exit_code = 27


class DeviceFailedError(OCRError):
    """The device reported an error after which nothing can be computed in this process."""

    http_status = 503
    exit_code = 28


class ServerUnreachableError(OCRError):
    """The client got no answer, or not one of this service."""

    http_status = 502
    exit_code = 29


class CrashingFileError(OCRError):
    """Reading a document ended the process again and again."""

    http_status = 422
    exit_code = 30
