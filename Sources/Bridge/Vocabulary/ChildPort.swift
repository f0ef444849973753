/// A program that the bridge starts and speaks to.
package struct ChildPlan: Hashable, Sendable {
    /// The program first: a path, or a name to be found in the child's own `PATH`.
    package var arguments: [String]
    package var environment: ChildEnvironment
    /// The working directory.
    package var folder: String
    package var life: Life
    package var pipes: Pipes
    /// More bytes than these waiting for the child to read them are refused by `send`.
    package var sendLimit: Int

    package init(
        arguments: [String], environment: ChildEnvironment = ChildEnvironment(), folder: String, life: Life,
        pipes: Pipes, sendLimit: Int = 64 << 20
    ) {
        self.arguments = arguments
        self.environment = environment
        self.folder = folder
        self.life = life
        self.pipes = pipes
        self.sendLimit = sendLimit
    }

    /// How a child ends. A grace is the time between two steps of its end.
    package enum Life: Hashable, Sendable {
        /// Ends with the bridge: end of input, SIGTERM, SIGKILL, each to its group; what it leaves in its group ends with it. A
        /// bridge that is killed takes the child with it at once, but not the child's own children.
        case withBridge(grace: Duration)
        /// Ends by itself at the end of its input, also when the bridge has died: it continues to the end of its turn.
        case byItself(grace: Duration)
        /// A server in a session of its own, to be rejoined. Only an order ends it.
        case outlives
    }

    package enum Pipes: Hashable, Sendable {
        /// A frame a line, split at LF alone. A longer line is skipped and counted.
        case lines(limit: Int)
        /// Standard input alone; all that it writes goes to the null device, at no cost to the bridge.
        case input
        /// Spoken to by another channel; standard output and standard error are appended to a file, made 0600.
        case none(log: String)
    }
}

/// A process, also after its id was given to another: the start time distinguishes them.
package struct ProcessName: Hashable, Sendable {
    package var id: Int32
    /// Since the computer was started, in the kernel's ticks.
    package var startTicks: UInt64

    package init(id: Int32, startTicks: UInt64) {
        self.id = id
        self.startTicks = startTicks
    }
}

package enum ProcessEnd: Hashable, Sendable {
    /// With this code.
    case exited(Int32)
    /// By this signal.
    case signalled(Int32)
}

/// What happens to a child. Exactly one of `failed` and `exited` comes, once, and last.
package enum ChildEvent: Hashable, Sendable {
    /// The program runs.
    case spawned(ProcessName)
    /// Without its LF. The array has room for 64 more bytes, so that a parser may read beyond its end.
    case line([UInt8])
    /// A line over the limit was left out.
    case skipped(bytes: Int)
    /// A line of standard error, at most 4 KB of it.
    case complained(String)
    /// All of this `send` was written.
    case written(Int)
    /// It does not run, and never did.
    case failed(ChildFailure)
    /// `lastWords`: the end of its standard error.
    case exited(ProcessEnd, lastWords: String)
}

package struct ChildFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case notFound, notExecutable, noFolder
        /// The system has no descriptor, process or memory left.
        case noDescriptor, noProcess
        /// `release(false)`: the start was called off.
        case calledOff
        /// The plan itself cannot be carried out, as with a NUL in an argument.
        case badPlan
        case other
    }

    package var code: Code
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

/// A child that is being started or runs. Letting go of the last reference ends it as its life says: `withBridge` by `end`,
/// `byItself` by `closeInput`, `outlives` not at all.
package protocol ChildLink: AnyObject, Sendable {
    /// Queued; never blocks. False when the queue is full or the child can hear no more: then nothing of it is sent. `telling`:
    /// `.written` says when all of it is in the child's pipe.
    @discardableResult
    func send(_ bytes: [UInt8], telling: Int?) -> Bool
    /// End of input, after what is queued.
    func closeInput()
    /// By the steps of its life, or by SIGKILL at once.
    func end(atOnce: Bool)
    /// After the line that is being handled, no other comes until `resumeReading` or `end`, and the child is held back. Its end waits too.
    func pauseReading()
    func resumeReading()
}

package protocol ChildRunner: Sendable {
    /// Begins to start a child. `handler` is called on a thread of the child's own, which it must not block for long.
    ///
    /// `record` gets the name of the process before the program runs; the program waits until the second argument of `record` is
    /// called, with false to call it off. So no program runs that is not written down.
    func start(
        _ plan: ChildPlan, record: (@Sendable (ProcessName, @escaping @Sendable (Bool) -> Void) -> Void)?,
        handler: @escaping @Sendable (ChildEvent) -> Void
    ) -> any ChildLink
}

extension ChildRunner {
    package func start(_ plan: ChildPlan, handler: @escaping @Sendable (ChildEvent) -> Void) -> any ChildLink {
        start(plan, record: nil, handler: handler)
    }
}

extension ChildLink {
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool { send(bytes, telling: nil) }
}
