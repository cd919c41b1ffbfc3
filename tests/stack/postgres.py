"""PostgreSQL of the machine on loopback, for catalogs of tables: in `make soak` only, where it is installed."""

import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.stack import artifacts
from tests.stack.ports import LOOPBACK
from tests.stack.server import Server

_USER = "postgres"
"""Who runs the server where these tests are root, which it refuses to be; Debian's packages make it."""


class Postgres(Server):
    """A server with a database ``catalog`` and one user, who logs in by a password."""

    name = "postgres"
    user = "catalog"
    password = "catalog-secret"

    @property
    def uri(self) -> str:
        """Address for `spec.table.catalog.uri`, without user and password."""
        return self.uri_at(self.port)

    def uri_at(self, port: int) -> str:
        """Return the address by way of a proxy."""
        return f"postgresql+psycopg2://{LOOPBACK}:{port}/{self.user}"

    def write_secret(self, secrets_dir: Path, name: str) -> None:
        """Write the login as the mounted Secret ``name``."""
        secret = secrets_dir / name
        secret.mkdir(parents=True, exist_ok=True)
        (secret / "username").write_text(self.user)
        (secret / "password").write_text(self.password)

    def kill(self) -> None:
        """Kill -9 all of its processes: a server does not start beside those of the one before."""
        self._signal(signal.SIGKILL)
        super().kill()

    def suspend(self) -> None:
        """Freeze all of its processes."""
        self._signal(signal.SIGSTOP)
        super().suspend()

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        super().resume()

    def _signal(self, number: signal.Signals) -> None:
        if self.alive:
            os.killpg(self.pid, number)

    def _command(self) -> Sequence[str]:
        programs = artifacts.postgres()
        data = self.directory / "data"
        if not data.exists():
            self._initialise(programs, data)
        self._open_folders()
        (data / "postmaster.pid").unlink(missing_ok=True)  # of a server that was killed
        options = ["-p", str(self.port), "-c", f"listen_addresses={LOOPBACK}", "-c", "unix_socket_directories="]
        return [*_as_user(), str(programs / "postgres"), "-D", str(data), *options]

    def _initialise(self, programs: Path, data: Path) -> None:
        password = self.directory / "password"
        password.write_text(self.password)
        if os.geteuid() == 0:
            for path in (self.directory, password):
                shutil.chown(path, _USER)
        self._open_folders()
        arguments = [f"--username={self.user}", f"--pwfile={password}", "--auth=scram-sha-256", "--no-sync"]
        subprocess.run(
            [*_as_user(), str(programs / "initdb"), "-D", str(data), *arguments], check=True, capture_output=True
        )
        single = [str(programs / "postgres"), "--single", "-D", str(data), "postgres"]
        subprocess.run(
            [*_as_user(), *single], input=f"create database {self.user}\n", text=True, check=True, capture_output=True
        )

    def _open_folders(self) -> None:
        """Let the server's user pass: pytest's folders are its own user's, again whenever another pytest starts."""
        for folder in self.directory.parents if os.geteuid() == 0 else ():
            if folder.stat().st_uid == 0 and folder.stat().st_mode & 0o001 == 0:
                folder.chmod(folder.stat().st_mode | 0o001)

    def _serves(self) -> bool:
        done = subprocess.run(
            [str(artifacts.postgres() / "pg_isready"), "-q", "-h", LOOPBACK, "-p", str(self.port), "-t", "2"],
            check=False,
        )
        return done.returncode == 0


def _as_user() -> list[str]:
    return ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--init-groups"] if os.geteuid() == 0 else []
