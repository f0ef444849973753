import Glibc
import Vocabulary

/// What the service manager hears of the process, as sd_notify(3) has it.
package enum ServiceNotice: Hashable, Sendable {
    case ready
    /// Since this moment of the monotonic clock, in microseconds.
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
        // A second line would be a notice of its own.
        case .status(let words): "STATUS=" + VisibleText.value(words)
        case .watchdog: "WATCHDOG=1"
        }
    }
}

/// Where a service manager has asked to be told, by `NOTIFY_SOCKET`. Nothing here waits: what it does not take at once is lost.
package final class ServiceManager: Sendable {
    private let descriptor: Int32
    private let address: [UInt8]
    /// How long it waits for a sign of life; nil: it does not.
    package let patience: Duration?

    /// Nil where nobody has asked. A path that begins with `@` is a name in the abstract space.
    package init?(socket: String?, watchdogMicroseconds: String? = nil, watchdogProcess: String? = nil) {
        guard let socket, socket.hasPrefix("/") || socket.hasPrefix("@") else { return nil }
        var path = Array(socket.utf8)
        if path.first == UInt8(ascii: "@") { path[0] = 0 }
        guard path.count > 1, path.count < 108 else { return nil }
        descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        address = path
        let isForUs = watchdogProcess.map { $0 == String(getpid()) } ?? true
        // A time that is no number of nanoseconds is as good as none.
        patience = watchdogMicroseconds.flatMap(Int64.init).flatMap { microseconds in
            guard microseconds > 0, isForUs else { return nil }
            let (nanoseconds, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
            return overflow ? nil : .nanoseconds(nanoseconds)
        }
    }

    deinit { close(descriptor) }

    /// False: it did not take them.
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

    /// Whether standard error leads to the system's journal. `stream` is `JOURNAL_STREAM`, the device and the inode of its socket: a child
    /// whose output was redirected inherits the variable too.
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
