//! Decoys for attackers: listening sockets that notice connections.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

/// Listening sockets that no program in the sandbox may reach.
pub struct DecoySockets {
    tcp: TcpListener,
    tcp6: Option<TcpListener>,
    udp: UdpSocket,
    named: UnixListener,
    hidden: UnixListener,
}

impl DecoySockets {
    /// Listens on the loopback addresses, at `path`, and as `mark` without a path.
    pub fn new(path: &Path, mark: &str) -> Self {
        let address = SocketAddr::from_abstract_name(mark).expect("an abstract name");
        let decoys = Self {
            tcp: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a TCP port"),
            // Not every machine has IPv6.
            tcp6: TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).ok(),
            udp: UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a UDP port"),
            named: UnixListener::bind(path).expect("a unix socket"),
            hidden: UnixListener::bind_addr(&address).expect("an abstract socket"),
        };
        decoys.tcp.set_nonblocking(true).expect("a socket");
        decoys.tcp6.iter().for_each(|tcp6| tcp6.set_nonblocking(true).expect("a socket"));
        decoys.udp.set_nonblocking(true).expect("a socket");
        decoys.named.set_nonblocking(true).expect("a socket");
        decoys.hidden.set_nonblocking(true).expect("a socket");
        decoys
    }

    /// The ports of the sockets, by the placeholder that stands for each in programs.
    pub fn ports(&self) -> [(&'static str, u16); 3] {
        let tcp = self.tcp.local_addr().expect("it is bound").port();
        let tcp6 = self.tcp6.iter().find_map(|tcp6| tcp6.local_addr().ok());
        let udp = self.udp.local_addr().expect("it is bound").port();
        [
            ("tcp_port", tcp),
            ("tcp6_port", tcp6.map_or(tcp, |address| address.port())),
            ("udp_port", udp),
        ]
    }

    /// The sockets that were reached since the last call.
    pub fn reached(&self) -> Vec<&'static str> {
        let is_silent = |heard: std::io::Result<()>| {
            heard.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        let tcp6 = self.tcp6.as_ref().map(|tcp6| tcp6.accept().map(drop));
        let heard = [
            ("TCP", Some(self.tcp.accept().map(drop))),
            ("TCP over IPv6", tcp6),
            ("UDP", Some(self.udp.recv(&mut [0; 16]).map(drop))),
            ("a unix socket", Some(self.named.accept().map(drop))),
            ("an abstract socket", Some(self.hidden.accept().map(drop))),
        ];
        let reached = |(name, heard): (_, Option<_>)| {
            heard.is_some_and(|heard| !is_silent(heard)).then_some(name)
        };
        heard.into_iter().filter_map(reached).collect()
    }
}

#[test]
fn whoever_takes_a_bait_is_noticed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = testkit::process::unique_mark();
    let decoys = DecoySockets::new(&folder.path().join("socket"), &mark);
    assert_eq!(decoys.reached(), [""; 0]);
    let [(_, tcp), _, (_, udp)] = decoys.ports();
    let _tcp = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, tcp)).expect("a connection");
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a UDP port");
    sender.send_to(b"x", (Ipv4Addr::LOCALHOST, udp)).expect("a datagram is sent");
    let _named = UnixStream::connect(folder.path().join("socket")).expect("a connection");
    let address = SocketAddr::from_abstract_name(&mark).expect("an abstract name");
    let _hidden = UnixStream::connect_addr(&address).expect("a connection");
    assert_eq!(decoys.reached(), ["TCP", "UDP", "a unix socket", "an abstract socket"]);
    assert_eq!(decoys.reached(), [""; 0]);
}
