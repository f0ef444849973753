import CPosix
import Glibc
import Vocabulary

/// Checks of a Unix socket before a byte is sent over it: other users of the machine are not trusted.
enum UnixSocket {
    /// Linux allows 107 bytes, other systems fewer.
    static let pathLimit = 100

    static func check(_ path: String) throws(WebSocketFailure) {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw WebSocketFailure(
                .badURL, "the socket \(path) cannot be used: expected an absolute path")
        }
        guard path.utf8.count <= pathLimit else {
            throw WebSocketFailure(
                .badURL,
                "the path of the socket \(path) has \(path.utf8.count) bytes, and the system takes \(pathLimit): "
                    + "put it into a folder with a shorter path")
        }
        var about = stat()
        guard stat(path, &about) == 0 else {
            throw WebSocketFailure(
                .connectionRefused,
                "no connection to the socket \(path): \(String(cString: strerror(errno)))")
        }
        guard about.st_mode & S_IFMT == S_IFSOCK else {
            throw WebSocketFailure(
                .badURL, "\(path) is no socket: name the one that the server listens on")
        }
        guard about.st_uid == geteuid() else { throw foreign(path, about.st_uid) }
    }

    /// The file may have been replaced since `check`, so the kernel names the listener. Root is accepted: it could do anything anyway.
    static func checkListener(_ descriptor: Int32, _ path: String) throws(WebSocketFailure) {
        var user = uid_t.max
        guard sb_peer_user(descriptor, &user) == 0 else {
            throw WebSocketFailure(.other, "nobody knows who listens on the socket \(path)")
        }
        guard user == geteuid() || user == 0 else { throw foreign(path, user) }
    }

    private static func foreign(_ path: String, _ user: uid_t) -> WebSocketFailure {
        WebSocketFailure(
            .foreignListener,
            "the socket \(path) belongs to user \(user), not to this one (\(geteuid())), so nothing is sent there")
    }
}
