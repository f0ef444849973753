import CPosix
import Glibc
import Vocabulary

/// A file descriptor, closed with its last owner.
final class Descriptor: Sendable {
    let number: Int32
    init(_ number: Int32) { self.number = number }
    deinit { close(number) }

    /// Makes a bridge's end non-blocking.
    func unblock() { _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK) }
}

/// The child's ends of the pipes.
struct ChildStreams: Sendable {
    var input: Descriptor
    var output: Descriptor
    var errors: Descriptor
    var gate: Descriptor
    var report: Descriptor
}

/// The bridge's ends. `input`, `output` and `errors` are nil for a child that talks over another channel.
struct BridgeStreams {
    var input: Descriptor?
    var output: Descriptor?
    var errors: Descriptor?
    var gate: Descriptor?
    var report: Descriptor
}

/// Makes the pipes of one child.
struct Plumbing: Sendable {
    /// Makes a pipe: 0, or errno. Tests replace it to simulate a system without descriptors.
    typealias PipeMaker = @Sendable (UnsafeMutablePointer<Int32>) -> Int32
    let makePipe: PipeMaker

    func streams(_ pipes: ChildPlan.Pipes) throws(ChildFailure) -> (BridgeStreams, ChildStreams) {
        let gate = try pipe()
        let report = try pipe()
        report.reading.unblock()
        switch pipes {
        case .lines:
            let input = try pipe()
            let output = try pipe()
            let errors = try pipe()
            for ours in [input.writing, output.reading, errors.reading] { ours.unblock() }
            return (
                BridgeStreams(
                    input: input.writing, output: output.reading, errors: errors.reading, gate: gate.writing,
                    report: report.reading),
                ChildStreams(
                    input: input.reading, output: output.writing, errors: errors.writing, gate: gate.reading,
                    report: report.writing)
            )
        case .input:
            let input = try pipe()
            input.writing.unblock()
            let output = try file("/dev/null", O_WRONLY)
            return (
                BridgeStreams(input: input.writing, gate: gate.writing, report: report.reading),
                ChildStreams(
                    input: input.reading, output: output, errors: output, gate: gate.reading, report: report.writing)
            )
        case .none(let log):
            let input = try file("/dev/null", O_RDONLY)
            LogBound.keep(log)
            // Without O_NONBLOCK a pipe in the log's place would block the thread until it has a reader.
            let output = try file(log, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK)
            return (
                BridgeStreams(gate: gate.writing, report: report.reading),
                ChildStreams(input: input, output: output, errors: output, gate: gate.reading, report: report.writing)
            )
        }
    }

    private func pipe() throws(ChildFailure) -> (reading: Descriptor, writing: Descriptor) {
        var ends: [Int32] = [-1, -1]
        let status = makePipe(&ends)
        guard status == 0 else { throw Self.failure(status, doing: "make a pipe for a child") }
        return (Descriptor(ends[0]), Descriptor(ends[1]))
    }

    private func file(_ path: String, _ flags: Int32) throws(ChildFailure) -> Descriptor {
        let number = open(path, flags | O_CLOEXEC, mode_t(0o600))
        guard number >= 0 else { throw Self.failure(errno, doing: "open \(path) for a child's output") }
        return Descriptor(number)
    }

    static func failure(_ error: Int32, doing what: String) -> ChildFailure {
        let found = String(cString: strerror(error))
        return switch error {
        case EMFILE:
            ChildFailure(
                .noDescriptor,
                "cannot \(what): the process has no file descriptor left; raise its limit (`ulimit -n`, LimitNOFILE=)")
        case ENFILE:
            ChildFailure(.noDescriptor, "cannot \(what): the system has no file descriptor left (fs.file-max)")
        case EAGAIN:
            ChildFailure(
                .noProcess,
                "cannot \(what): the user may have no more processes or threads; raise the limit (`ulimit -u`, TasksMax=)"
            )
        case ENOMEM:
            ChildFailure(.noProcess, "cannot \(what): the system has no memory left for it")
        default: ChildFailure(.other, "cannot \(what): \(found)")
        }
    }
}
