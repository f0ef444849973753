import CPosix
import Glibc
import OSThreads
package import Vocabulary

/// Queries about processes, from `/proc`.
package enum ProcessTable {
    package static func name(of id: Int32) -> ProcessName? {
        status(of: id).map { ProcessName(id: id, startTicks: $0.startTicks) }
    }

    /// The processes that still run. Zombies do not count: if process 1 does not reap, orphans stay zombies.
    package static func living(_ names: [ProcessName]) -> [ProcessName] {
        names.filter { name in
            guard let status = status(of: name.id) else { return false }
            return status.startTicks == name.startTicks && !status.isDead
        }
    }

    /// Descendants of a living process. Those of a dead one are unknown, because orphans get another parent.
    package static func descendants(of ancestor: ProcessName) -> [ProcessName] {
        guard !living([ancestor]).isEmpty else { return [] }
        let all = everyone()
        var found: [ProcessName] = []
        var parents: Set = [ancestor.id]
        while !parents.isEmpty {
            let children = all.filter { parents.contains($0.status.parent) && !$0.status.isDead }
            found += children.map { ProcessName(id: $0.id, startTicks: $0.status.startTicks) }
            parents = Set(children.map(\.id))
        }
        return found
    }

    /// Ends a process, a child of the bridge or not, and its descendants: SIGTERM, and after the grace SIGKILL. `then` runs on
    /// another thread when all are gone, or a second grace after SIGKILL. False if the system has no thread left.
    package static func end(_ name: ProcessName, grace: Duration, then: @escaping @Sendable () -> Void) -> Bool {
        startThread {
            var held = (descendants(of: name) + [name]).map(HeldProcess.init)
            for process in held { process.signal(SIGTERM) }
            let deadline = Deadline(after: grace)
            for process in held { process.wait(until: deadline) }
            // Descendants started meanwhile by processes that ignored SIGTERM.
            held += descendants(of: name).map(HeldProcess.init)
            for process in held { process.signal(SIGKILL) }
            let last = Deadline(after: grace)
            for process in held { process.wait(until: last) }
            then()
        }
    }

    static func status(of id: Int32) -> ProcessStatus? {
        let file = open("/proc/\(id)/stat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = read(file, &bytes, bytes.count)
        return count > 0 ? ProcessStatus(bytes[..<count]) : nil
    }

    private static func everyone() -> [(id: Int32, status: ProcessStatus)] {
        guard let folder = opendir("/proc") else { return [] }
        defer { closedir(folder) }
        var found: [(Int32, ProcessStatus)] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let id = Int32(name), let status = status(of: id) { found.append((id, status)) }
        }
        return found
    }
}

/// A line of `/proc/PID/stat`.
struct ProcessStatus: Hashable {
    var isDead: Bool
    var parent: Int32
    var startTicks: UInt64

    /// The program's name, in parentheses, may itself contain spaces and parentheses.
    init?(_ line: ArraySlice<UInt8>) {
        guard let end = line.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = String(decoding: line[(end + 1)...], as: UTF8.self).split { $0 == " " || $0 == "\n" }
        guard fields.count > 19, let parent = Int32(fields[1]), let ticks = UInt64(fields[19]) else { return nil }
        isDead = ["Z", "X", "x"].contains(fields[0])
        self.parent = parent
        startTicks = ticks
    }
}

/// A handle to a process, so that no signal reaches another one that got its id.
private final class HeldProcess {
    private let name: ProcessName
    /// -1 if the process is gone, or a sandbox forbids `pidfd_open`.
    private let descriptor: Int32

    init(_ name: ProcessName) {
        self.name = name
        descriptor = sb_process_open(name.id)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func signal(_ number: Int32) {
        guard !ProcessTable.living([name]).isEmpty else { return }
        if descriptor >= 0 { _ = sb_process_signal(descriptor, number) } else { kill(name.id, number) }
    }

    func wait(until deadline: Deadline) {
        while !ProcessTable.living([name]).isEmpty, !deadline.hasPassed {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            // Without a descriptor there is no event, so the loop polls every 20 ms.
            poll(&polled, 1, descriptor >= 0 ? deadline.millisecondsLeft : min(20, deadline.millisecondsLeft))
        }
    }
}
