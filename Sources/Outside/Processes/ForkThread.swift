import CPosix
import Glibc
import Locking
import OSThreads

/// The thread that forks every child. It lives as long as the process: the kernel sends the signal of
/// `PR_SET_PDEATHSIG` when the forking *thread* ends, and a thread of a pool may end at any time.
final class ForkThread: Sendable {
    static let shared = ForkThread()

    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var isStarted = false
    }

    private let state = Locked(State())
    private let arrivals = Semaphore()

    private init() {}

    /// The child's process id, or a negative errno.
    func fork(_ launch: Launch, _ streams: ChildStreams) -> Int32 {
        let answer = Locked<Int32>(-EAGAIN)
        let done = Semaphore()
        let isTaken = enter {
            let made = launch.fork(streams)
            answer.withLock { $0 = made }
            done.raise()
        }
        guard isTaken else { return -EAGAIN }
        done.wait()
        return answer.withLock { $0 }
    }

    /// False if the system has no thread left. The next call tries again to start one.
    private func enter(_ job: @escaping @Sendable () -> Void) -> Bool {
        let isTaken = state.withLock { state in
            if !state.isStarted { state.isStarted = startThread { self.run() } }
            if state.isStarted { state.jobs.append(job) }
            return state.isStarted
        }
        if isTaken { arrivals.raise() }
        return isTaken
    }

    private func run() {
        while true {
            arrivals.wait()
            state.withLock { $0.jobs.removeFirst() }()
        }
    }
}

/// Arguments of a fork, besides descriptors.
struct Launch: Sendable {
    var path: String
    var arguments: [String]
    var environment: [String]
    var folder: String
    var life: ChildLife

    struct ChildLife: Sendable {
        var hasSession: Bool
        var diesWithParent: Bool
    }

    /// Called on the fork thread. All memory is allocated before the fork.
    func fork(_ streams: ChildStreams) -> Int32 {
        var arguments = arguments.map { strdup($0) } + [nil]
        var environment = environment.map { strdup($0) } + [nil]
        defer { for text in arguments + environment { free(text) } }
        return path.withCString { path in
            folder.withCString { folder in
                arguments.withUnsafeMutableBufferPointer { arguments in
                    environment.withUnsafeMutableBufferPointer { environment in
                        var child = sb_child()
                        child.path = path
                        child.folder = folder
                        child.arguments = UnsafePointer(arguments.baseAddress)
                        child.environment = UnsafePointer(environment.baseAddress)
                        child.input = streams.input.number
                        child.output = streams.output.number
                        child.errors = streams.errors.number
                        child.gate = streams.gate.number
                        child.report = streams.report.number
                        child.has_session = life.hasSession ? 1 : 0
                        child.dies_with_parent = life.diesWithParent ? 1 : 0
                        return sb_child_fork(&child)
                    }
                }
            }
        }
    }
}
