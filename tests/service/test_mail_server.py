"""E-mail through real SMTP servers: encryption, log in, certificates, and addresses in headers."""

import socket
import ssl
from email.message import EmailMessage

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from isogloss.service.alerts._channels import DeliveryError, send_mail
from isogloss.service.settings import MailSettings

TIMEOUT_S = 30
USER, PASSWORD = "desk", "a long secret"

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH")  # aiosmtpd does not see implicit TLS


class Mailbox:
    """Keeps the envelopes that it is handed."""

    def __init__(self):
        self.envelopes, self.encrypted = [], []

    async def handle_DATA(self, server, session, envelope):
        self.envelopes.append(envelope)
        self.encrypted.append(server.transport.get_extra_info("ssl_object") is not None)
        return "250 taken"


def authenticate(server, session, envelope, mechanism, data):
    login = (data.login, data.password)
    return AuthResult(success=login == (USER.encode(), PASSWORD.encode()))


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def trusted(authority, tmp_path, monkeypatch):
    """Trust the authority that signs the certificates of the servers."""
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


@pytest.fixture(autouse=True)
def quiet(caplog):
    """The server logs every line of every session."""
    caplog.set_level("ERROR", logger="mail.log")


@pytest.fixture
def serve(authority):
    """Start a server with some kind of encryption; return its settings and its mailbox."""
    running = []

    def start(security, *, name="localhost", login=True):
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(name).configure_cert(context)
        box = Mailbox()
        starttls = {"tls_context": context, "require_starttls": True}
        options = {"ssl_context": context} if security == "tls" else starttls
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        if login:
            options |= {
                "authenticator": authenticate,
                "auth_required": True,
                "auth_require_tls": security == "starttls",
            }
        server = Controller(box, hostname="127.0.0.1", port=port, **options)
        server.start()
        running.append(server)
        mail = MailSettings(
            host="localhost",
            port=port,
            security=security,
            sender="isogloss@gull.example",
            user=USER if login else "",
            password=PASSWORD if login else "",
        )
        return mail, box

    yield start
    for server in running:
        server.stop()


def message(**headers):
    made = EmailMessage()
    for name, value in {"From": "isogloss@gull.example", "To": "desk@gull.example", "Subject": "x"}.items():
        made[name] = headers.get(name, value)
    made.set_content("Sturm über der Küste\n.\nQUIT\n")
    return made


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_mail_is_encrypted_and_logs_in(serve, trusted, security):
    settings, box = serve(security)
    send_mail(settings, message(), TIMEOUT_S)
    (envelope,) = box.envelopes
    assert box.encrypted == [True]
    assert (envelope.mail_from, envelope.rcpt_tos) == ("isogloss@gull.example", ["desk@gull.example"])
    assert b"QUIT" in envelope.content


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_a_wrong_password_is_reported_but_not_shown(serve, trusted, security):
    settings, box = serve(security)
    wrong = settings.model_copy(update={"password": "guess-9f3"})
    with pytest.raises(DeliveryError, match="the e-mail was not sent") as refused:
        send_mail(wrong, message(), TIMEOUT_S)
    assert "guess-9f3" not in str(refused.value)
    assert box.envelopes == []


def test_a_password_that_smtplib_cannot_send_is_a_failure_and_not_a_crash(serve, trusted):
    settings, box = serve("tls")
    with pytest.raises(DeliveryError, match="ASCII"):
        send_mail(settings.model_copy(update={"password": "é9f3"}), message(), TIMEOUT_S)
    assert box.envelopes == []


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_no_password_goes_to_a_server_that_is_not_trusted(serve, security):
    settings, box = serve(security)
    with pytest.raises(DeliveryError, match=r"(?i)certificate"):
        send_mail(settings, message(), TIMEOUT_S)
    assert box.envelopes == []


def test_a_certificate_of_another_host_is_refused(serve, trusted):
    settings, box = serve("tls", name="elsewhere.example")
    with pytest.raises(DeliveryError, match=r"(?i)certificate"):
        send_mail(settings, message(), TIMEOUT_S)
    assert box.envelopes == []


def test_a_server_without_encryption_gets_nothing_if_it_is_required(serve, trusted):
    settings, box = serve("tls", login=False)
    plain = settings.model_copy(update={"security": "starttls"})
    with pytest.raises(DeliveryError, match="the e-mail was not sent"):
        send_mail(plain, message(), 2)
    assert box.envelopes == []


@pytest.mark.parametrize("header", ["To", "From", "Subject"])
@pytest.mark.parametrize("ending", ["\r\n", "\n", "\r"])
def test_headers_take_no_line_breaks(header, ending):
    with pytest.raises(ValueError, match=r"(?i)(linefeed|newline|carriage return|header)"):
        message(**{header: f"desk@gull.example{ending}Bcc: everyone@x.example"})
