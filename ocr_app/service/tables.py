"""The tables of the service, and opening the database that holds them. Knows no jobs, only columns."""

from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    create_engine,
    event,
)
from sqlalchemy.exc import SQLAlchemyError

from ocr_app.errors import ConfigError

metadata = MetaData()


class Word(TypeDecorator[str]):
    """A member of a StrEnum as its text: drivers differ in what they make of one."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        return None if value is None else str(value)


jobs = Table(
    "jobs",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("owner", String(40), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("upload", String(80), nullable=False),
    Column("num_bytes", BigInteger, nullable=False),
    Column("state", Word(24), nullable=False, index=True),
    Column("rank", Float(53), nullable=False),
    Column("page_indices", Text, nullable=False),  # JSON
    Column("num_pages", Integer, nullable=False),
    Column("num_done", Integer, nullable=False, default=0),
    Column("options", Text, nullable=False),  # JSON
    Column("needs_password", Boolean, nullable=False),
    Column("created_s", Float(53), nullable=False),
    Column("started_s", Float(53)),
    Column("finished_s", Float(53)),
    Column("expires_s", Float(53), index=True),
    Column("busy_s", Float(53), nullable=False, default=0.0),
    Column("num_memory_retries", Integer, nullable=False, default=0),
    Column("num_idle_starts", Integer, nullable=False, default=0),
    Column("is_cancelling", Boolean, nullable=False, default=False),
    Column("error_type", String(80)),
    Column("error_message", Text),
    Column("notes", Text, nullable=False, default="[]"),  # JSON
    Column("last_event", Integer, nullable=False, default=0),
    Index("jobs_by_rank", "state", "rank"),
)


def _job_id(**options: Any) -> Column:
    return Column("job_id", String(40), ForeignKey("jobs.id", ondelete="CASCADE"), **options)


# the primary key is what keeps a page from being written twice
pages = Table(
    "pages",
    metadata,
    _job_id(primary_key=True),
    Column("page_index", Integer, primary_key=True),
    Column("verdict", Word(24), nullable=False),
    Column("finished_s", Float(53), nullable=False),
    Column("record", LargeBinary, nullable=False),
)

events = Table(
    "events",
    metadata,
    _job_id(primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", String(8), nullable=False),
    Column("page_index", Integer),
    Column("state", Word(24)),
)

keys = Table(
    "keys",
    metadata,
    Column("id", String(40), primary_key=True),
    Column("name", String(80), nullable=False),
    Column("role", Word(16), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("created_s", Float(53), nullable=False),
    Column("revoked_s", Float(53)),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at_s", Float(53), nullable=False, index=True),
    Column("who", String(80), nullable=False),
    Column("address", String(64), nullable=False),
    Column("action", String(160), nullable=False),
    Column("status", Integer, nullable=False),
)


def open_database(url: str | None, folder: Path) -> Engine:
    """Open the database and make what is missing in it. Raises ConfigError, without the password of a URL."""
    try:
        engine = create_engine(url or f"sqlite:///{folder / 'jobs.sqlite'}", pool_pre_ping=True)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _set_up_sqlite)
        metadata.create_all(engine)
    except (SQLAlchemyError, ImportError) as error:
        raise ConfigError(
            f"The job database cannot be opened ({type(error).__name__}); check service.database_url, "
            "that its server runs and that its driver is installed."
        ) from error
    return engine


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=30000", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
