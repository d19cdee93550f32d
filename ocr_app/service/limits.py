"""How often and how much a key may ask, counted by the library `limits`."""

from limits import RateLimitItem, parse
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter

from ocr_app.config import ServiceConfig
from ocr_app.errors import ConfigError, TooManyRequestsError

FAILED_SIGN_INS = "20/minute"  # an address


class Limits:
    """Raises ConfigError for a limit that cannot be understood."""

    def __init__(self, config: ServiceConfig) -> None:
        self._requests = _parsed("rate_limit", config.rate_limit)
        self._pages = _parsed("page_quota", config.page_quota)
        self._sign_ins = parse(FAILED_SIGN_INS)
        try:
            self._limiter = MovingWindowRateLimiter(storage_from_string(config.limits_storage))
        except Exception as error:
            raise ConfigError(
                f"service.limits_storage cannot be used ({type(error).__name__}); memory:// needs no server."
            ) from error

    def request(self, key_id: str) -> None:
        """Count a request. Raises TooManyRequestsError."""
        if not self._limiter.hit(self._requests, "request", key_id):
            raise TooManyRequestsError(f"More than {self._requests} requests; wait a little.")

    def pages(self, key_id: str, num_pages: int) -> None:
        """Count the pages of a new job. Raises TooManyRequestsError."""
        if not self._limiter.hit(self._pages, "pages", key_id, cost=num_pages):
            raise TooManyRequestsError(
                f"{num_pages} more pages are over the quota of {self._pages}; ask for fewer or wait."
            )

    def sign_in_failed(self, address: str) -> None:
        self._limiter.hit(self._sign_ins, "sign-in", address)

    def check_sign_in(self, address: str) -> None:
        """Raises TooManyRequestsError for an address that guesses."""
        if not self._limiter.test(self._sign_ins, "sign-in", address):
            raise TooManyRequestsError("Too many wrong keys from this address; wait a minute.")


def _parsed(name: str, text: str) -> RateLimitItem:
    try:
        return parse(text)
    except ValueError:
        raise ConfigError(f"service.{name} is {text!r}; write it like 60/minute or 1000/day.") from None
