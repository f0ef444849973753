import Glibc
import Vocabulary

/// A state change in the protocol of sd_notify(3).
package enum ServiceNotice: Hashable, Sendable {
    case ready
    /// The reload's start on the monotonic clock, in microseconds.
    case reloading(since: UInt64)
    case stopping
    /// One line for `systemctl status`.
    case status(String)
    case watchdog

    package var line: String {
        switch self {
        case .ready: "READY=1"
        case .reloading(let since): "RELOADING=1\nMONOTONIC_USEC=\(since)"
        case .stopping: "STOPPING=1"
        // The protocol separates assignments by line breaks.
        case .status(let words): "STATUS=" + VisibleText.value(words)
        case .watchdog: "WATCHDOG=1"
        }
    }
}

/// The datagram socket of a service manager, as `NOTIFY_SOCKET` names it. A send never blocks.
package final class ServiceManager: Sendable {
    private let descriptor: Int32
    private let address: [UInt8]
    /// The watchdog's timeout, or nil if the watchdog is off or watches another process.
    package let patience: Duration?

    /// The initializer fails if the variable is unset or names no Unix socket. A leading `@` denotes a name in the abstract namespace.
    package init?(socket: String?, watchdogMicroseconds: String? = nil, watchdogProcess: String? = nil) {
        guard let socket, socket.hasPrefix("/") || socket.hasPrefix("@") else { return nil }
        var path = Array(socket.utf8)
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        guard path.count > 1, path.count < 108 else { return nil }
        descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        address = path
        let isForUs = watchdogProcess.map { $0 == String(getpid()) } ?? true
        // A timeout that overflows in nanoseconds disables the watchdog.
        patience = watchdogMicroseconds.flatMap(Int64.init).flatMap { microseconds in
            guard microseconds > 0, isForUs else { return nil }
            let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
            return overflow ? nil : .nanoseconds(nanoseconds)
        }
    }

    deinit { close(descriptor) }

    /// Sends the notices in one datagram. The result is false if the manager's queue was full or its socket is gone.
    @discardableResult
    package func tell(_ notices: ServiceNotice...) -> Bool {
        var message = notices.map(\.line).joined(separator: "\n")
        var to = sockaddr_un()
        to.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &to.sun_path) { $0.copyBytes(from: address) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + address.count)
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        return withUnsafePointer(to: &to) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { to in
                message.withUTF8 { sendto(descriptor, $0.baseAddress, $0.count, flags, to, length) >= 0 }
            }
        }
    }

    /// Whether standard error is connected to the system's journal. `stream` is `JOURNAL_STREAM`, the device and inode of its socket, which a
    /// child with redirected output inherits as well.
    package static func readsErrors(stream: String?) -> Bool {
        var about = stat()
        guard let stream, fstat(STDERR_FILENO, &about) == 0 else { return false }
        return stream == "\(about.st_dev):\(about.st_ino)"
    }

    package static var monotonicMicroseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1_000
    }
}
