import CPosix
import Glibc
import Testing
import Vocabulary
import WireTesting

@testable import Children

/// A child with its events.
final class Kid {
    let events = Queue<ChildEvent>()
    private(set) var link: (any ChildLink)?

    init(_ plan: ChildPlan, runner: SystemChildren = SystemChildren()) {
        link = runner.start(plan) { [events] in events.put($0) }
    }

    convenience init(
        _ script: String, life: ChildPlan.Life = .withBridge(grace: .seconds(20)), limit: Int = 1 << 20,
        environment: ChildEnvironment = ChildEnvironment(), sendLimit: Int = 1 << 20
    ) {
        self.init(
            ChildPlan(
                arguments: ["/bin/sh", "-c", script], environment: environment, folder: "/", life: life,
                pipes: .lines(limit: limit), sendLimit: sendLimit))
    }

    func letGo() { link = nil }

    func spawned() throws -> ProcessName {
        let first = try events.next()
        guard case .spawned(let name) = first else { throw Unexpected(event: first) }
        return name
    }

    func line() throws -> String {
        let next = try events.next()
        guard case .line(let bytes) = next else { throw Unexpected(event: next) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// All events to the end.
    func rest() throws -> [ChildEvent] {
        var found: [ChildEvent] = []
        while true {
            found.append(try events.next())
            switch found.last {
            case .exited, .failed: return found
            default: continue
            }
        }
    }

    func end() throws -> ProcessEnd? {
        if case .exited(let end, _) = try rest().last { end } else { nil }
    }

    func failure() throws -> ChildFailure? {
        if case .failed(let failure) = try rest().last { failure } else { nil }
    }

    struct Unexpected: Error { var event: ChildEvent }
}

/// Waits at most 20 seconds for the process's end.
func isGone(_ name: ProcessName) -> Bool {
    let process = sb_process_open(name.id)
    guard process >= 0 else { return ProcessTable.living([name]).isEmpty }
    defer { close(process) }
    guard !ProcessTable.living([name]).isEmpty else { return true }
    var polled = pollfd(fd: process, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 20_000) == 1
}

/// A folder that is removed with its last owner.
final class KidFolder {
    let path: String
    init() throws {
        var template = Array(
            "\(getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp")/children.XXXXXX".utf8CString)
        path = try #require(mkdtemp(&template).map { String(cString: $0) })
    }
    deinit {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                unlink("\(path)/\(name)")
            }
            closedir(folder)
        }
        rmdir(path)
    }

    func file(_ name: String, _ text: String, mode: mode_t) -> String {
        let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, mode)
        _ = text.withCString { write(descriptor, $0, strlen($0)) }
        close(descriptor)
        return "\(path)/\(name)"
    }

    func text(_ name: String) -> String {
        let descriptor = open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        return String(decoding: bytes[..<max(0, read(descriptor, &bytes, bytes.count))], as: UTF8.self)
    }
}
