/// A program that the bridge starts and speaks to.
package struct ChildPlan: Hashable, Sendable {
    /// The program first: a path, or a name to look up in the child's own `PATH`.
    package var arguments: [String]
    package var environment: ChildEnvironment
    /// The working directory.
    package var folder: String
    package var life: Life
    package var pipes: Pipes
    /// Bytes that may wait for the child to read them; `send` refuses more.
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
        /// Ends with the bridge: end of input, SIGTERM, SIGKILL, each to its group; everything left in its group ends too.
        /// A killed bridge takes the child with it at once, but not the child's own children.
        case withBridge(grace: Duration)
        /// Ends by itself at the end of its input, also after the bridge's death: it continues to the end of its turn.
        case byItself(grace: Duration)
        /// A server in a session of its own, which a later bridge rejoins. Only an order ends it.
        case outlives
    }

    package enum Pipes: Hashable, Sendable {
        /// One frame per line, split at LF alone. A longer line is skipped and counted.
        case lines(limit: Int)
        /// Standard input alone. All output goes to the null device, at no cost to the bridge.
        case input
        /// No pipe: another channel speaks to the child. Standard output and standard error are appended to a file with mode 0600.
        case none(log: String)
    }
}

/// A process, identified beyond the reuse of its id: the start time distinguishes processes.
package struct ProcessName: Hashable, Sendable {
    package var id: Int32
    /// Ticks of the kernel since the computer's start.
    package var startTicks: UInt64

    package init(id: Int32, startTicks: UInt64) {
        self.id = id
        self.startTicks = startTicks
    }
}

package enum ProcessEnd: Hashable, Sendable {
    /// Exit code.
    case exited(Int32)
    /// Signal that ended the process.
    case signalled(Int32)
}

/// Events of a child. Exactly one of `failed` and `exited` comes, once, and last.
package enum ChildEvent: Hashable, Sendable {
    /// The program runs.
    case spawned(ProcessName)
    /// A line without its LF. The array has room for 64 more bytes: a parser may read beyond its end.
    case line([UInt8])
    /// A line over the limit was dropped.
    case skipped(bytes: Int)
    /// A line of standard error, at most 4 KB of it.
    case complained(String)
    /// All bytes of this `send` are in the child's pipe.
    case written(Int)
    /// The child does not run, and never did.
    case failed(ChildFailure)
    /// `lastWords` is the end of its standard error.
    case exited(ProcessEnd, lastWords: String)
}

package struct ChildFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case notFound, notExecutable, noFolder
        /// The system has no descriptor, process or memory left.
        case noDescriptor, noProcess
        /// `record` called the start off.
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

/// A starting or running child. Releasing the last reference ends it according to its life:
/// `withBridge` by `end`, `byItself` by `closeInput`, `outlives` not at all.
package protocol ChildLink: AnyObject, Sendable {
    /// Queues the bytes and never blocks. False if the queue is full or the child's input is closed: then none of them
    /// is sent. With `telling`, `.written` reports that all of them are in the child's pipe.
    @discardableResult
    func send(_ bytes: [UInt8], telling: Int?) -> Bool
    /// Closes the child's input, after the queued bytes.
    func closeInput()
    /// Ends the child by the steps of its life, or at once by SIGKILL.
    func end(atOnce: Bool)
    /// After the current line, no other comes until `resumeReading` or `end`, and the full pipe holds the child back. Its end waits too.
    func pauseReading()
    func resumeReading()
}

package protocol ChildRunner: Sendable {
    /// Begins to start a child. A thread of the child's own calls `handler`, which must not block it for long.
    ///
    /// `record` receives the process's name before the program runs. The program waits until the second argument
    /// of `record` is called; false calls the start off. No program runs unrecorded.
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
