//! Checks `deploy/nginx.conf` with a real nginx in front of two gateways that fail in the ways that matter: what
//! may be sent to another gateway, and what must never be sent twice.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use testkit::cargo;

use super::report;

/// How long nginx may take to start, and an answer to arrive.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Starts nginx with the configuration, if it is installed, and checks what becomes of requests.
pub(super) fn check() -> Result<(), String> {
    if !super::has("nginx") {
        println!("skipped: nginx is not installed, so nginx.conf is not checked");
        return Ok(());
    }
    let gateways = Gateways::start()?;
    let expect = |what: &str, method: &str, path: &str, status: u16, sent: usize| {
        let nginx = Nginx::start(gateways.addresses)?;
        let answered = nginx.request(method, path)?.status()?;
        let times = gateways.requests_for(path);
        report(what, (answered, times) == (status, sent)).map_err(|error| {
            format!("{error}: {method} {path}: status {answered}, sent {times} times")
        })
    };
    expect("nginx passes a request on", "POST", "/well", 200, 1)?;
    expect("nginx sends no request twice whose gateway died", "POST", "/dies", 502, 1)?;
    expect("nginx sends a request on that a gateway refused", "POST", "/refuses", 200, 2)?;
    expect("nginx asks another gateway if one dies at a read", "GET", "/dies-reading", 200, 2)?;
    let nginx = Nginx::start(gateways.addresses)?;
    // The second gateway stops. The first one passes on what it answers for a session.
    let answered = nginx.statuses(["/its-session", "/stopping"])?;
    report("nginx keeps a gateway that passes a refusal on", answered == [503, 200])?;
    let [live, _] = gateways.addresses;
    let nginx = Nginx::start([live, closed_address()?])?;
    let answered = nginx.statuses(["/well"; 2])?;
    report("nginx asks another gateway if one cannot be reached", answered == [200, 200])?;
    let nginx = Nginx::start(gateways.addresses)?;
    let mut events = nginx.request("GET", "/events")?;
    report("nginx passes events on as they come", events.reads("first")?)?;
    gateways.send_next_event();
    report("nginx leaves a stream open", events.reads("second")?)
}

/// Two servers in the place of gateways. The first request for a path meets the trouble that the path names,
/// whichever of the two it is sent to.
struct Gateways {
    addresses: [SocketAddr; 2],
    shared: Arc<Shared>,
    next_event: mpsc::Sender<()>,
}

struct Shared {
    requests: Mutex<HashMap<String, usize>>,
    next_event: Mutex<mpsc::Receiver<()>>,
}

impl Gateways {
    fn start() -> Result<Self, String> {
        let (next_event, received) = mpsc::channel();
        let shared =
            Arc::new(Shared { requests: Mutex::default(), next_event: Mutex::new(received) });
        let listen = || TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string());
        let listeners = [listen()?, listen()?];
        let address =
            |listener: &TcpListener| listener.local_addr().map_err(|error| error.to_string());
        let addresses = [address(&listeners[0])?, address(&listeners[1])?];
        for (number, listener) in listeners.into_iter().enumerate() {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                for connection in listener.incoming().flatten() {
                    let shared = Arc::clone(&shared);
                    thread::spawn(move || _ = shared.serve(number, &connection));
                }
            });
        }
        Ok(Self { addresses, shared, next_event })
    }

    fn requests_for(&self, path: &str) -> usize {
        let requests = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.get(path).copied().unwrap_or_default()
    }

    fn send_next_event(&self) {
        _ = self.next_event.send(());
    }
}

impl Shared {
    /// Answers the requests of a connection to the gateway with this number.
    fn serve(&self, number: usize, mut connection: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(connection);
        while let Some(path) = read_request(&mut reader)? {
            let is_first = {
                let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
                let count = requests.entry(path.clone()).or_default();
                *count += 1;
                *count == 1
            };
            match path.as_str() {
                "/dies" | "/dies-reading" if is_first => return Ok(()),
                path if path == "/its-session"
                    || (path == "/stopping" && number == 1)
                    || (path == "/refuses" && is_first) =>
                {
                    connection.write_all(
                        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
                    )?;
                }
                "/events" => {
                    connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: first\n\n")?;
                    let next = self.next_event.lock().unwrap_or_else(PoisonError::into_inner);
                    _ = next.recv_timeout(TIMEOUT);
                    return connection.write_all(b"data: second\n\n");
                }
                _ => connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?,
            }
        }
        Ok(())
    }
}

/// Reads a request with its body, and returns its path; `None` at the end of the connection.
fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    reader.take(length).read_to_end(&mut Vec::new())?;
    Ok(first.split(' ').nth(1).map(str::to_owned))
}

/// An address at which nothing listens.
fn closed_address() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    listener.local_addr().map_err(|error| error.to_string())
}

/// A running nginx, which ends with this.
struct Nginx {
    process: Child,
    address: SocketAddr,
}

impl Nginx {
    /// Starts nginx with `deploy/nginx.conf`, with these addresses of gateways and a free port. An nginx before
    /// 1.27.3 resolves no names while it runs, and there are none here.
    fn start(gateways: [SocketAddr; 2]) -> Result<Self, String> {
        let failed = |error: std::io::Error| error.to_string();
        let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let address = free.map_err(failed)?;
        let folder = cargo::root().join("target/image/nginx");
        fs::create_dir_all(&folder).map_err(failed)?;
        let mut text =
            fs::read_to_string(cargo::root().join("deploy/nginx.conf")).map_err(failed)?;
        let [one, other] = gateways;
        let changes = [
            ("  resolver 127.0.0.11 valid=5s ipv6=off;\n", String::new()),
            ("server gateway-1:8808 resolve ", format!("server {one} ")),
            ("server gateway-2:8808 resolve ", format!("server {other} ")),
            ("listen 8808;", format!("listen {address};")),
        ];
        for (from, to) in changes {
            if !text.contains(from) {
                return Err(format!(
                    "nginx.conf has no '{}', which this check replaces",
                    from.trim()
                ));
            }
            text = text.replace(from, &to);
        }
        let path = folder.display();
        let own = format!("daemon off;\nmaster_process off;\npid {path}/pid;\nerror_log stderr;\n");
        let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("  {kind}_temp_path {path}/{kind};\n"))
            .concat();
        let text =
            own + &text.replacen("http {\n", &format!("http {{\n  access_log off;\n{paths}"), 1);
        fs::write(folder.join("nginx.conf"), text).map_err(failed)?;
        let mut command = Command::new("nginx");
        command.arg("-c").arg(folder.join("nginx.conf")).arg("-p").arg(&folder);
        let log = fs::File::create(folder.join("log")).map_err(failed)?;
        let process = command.stdin(Stdio::null()).stderr(log).spawn().map_err(failed)?;
        let nginx = Self { process, address };
        let start = Instant::now();
        while TcpStream::connect(address).is_err() {
            if start.elapsed() > TIMEOUT {
                let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
                return Err(format!("nginx does not listen:\n{log}"));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(nginx)
    }

    /// The statuses of two requests, one after the other.
    fn statuses(&self, paths: [&str; 2]) -> Result<[u16; 2], String> {
        let [one, other] = paths;
        Ok([self.request("POST", one)?.status()?, self.request("POST", other)?.status()?])
    }

    fn request(&self, method: &str, path: &str) -> Result<Response, String> {
        let failed = |error: std::io::Error| format!("{method} {path}: {error}");
        let mut connection = TcpStream::connect(self.address).map_err(failed)?;
        connection.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
        let body = if method == "POST" { "{}" } else { "" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(request.as_bytes()).map_err(failed)?;
        Ok(Response(BufReader::new(connection)))
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// A response that arrives.
struct Response(BufReader<TcpStream>);

impl Response {
    fn status(&mut self) -> Result<u16, String> {
        let mut line = String::new();
        self.0.read_line(&mut line).map_err(|error| error.to_string())?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        status.ok_or_else(|| format!("no status in '{}'", line.trim()))
    }

    /// Whether a line with this text arrives in time.
    fn reads(&mut self, text: &str) -> Result<bool, String> {
        loop {
            let mut line = String::new();
            match self.0.read_line(&mut line) {
                Ok(0) => return Ok(false),
                Ok(_) if line.contains(text) => return Ok(true),
                Ok(_) => {}
                Err(error) => return Err(format!("waiting for '{text}': {error}")),
            }
        }
    }
}
