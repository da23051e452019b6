"""SHA-256 by the interpreter's own code: hashlib would load OpenSSL, which takes 2 ms."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256 as sha256
else:
    try:
        from _sha2 import sha256 as sha256
    except ImportError:
        try:
            from _sha256 import sha256 as sha256
        except ImportError:
            from hashlib import sha256 as sha256
