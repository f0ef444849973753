package import Vocabulary

package struct WorkID: Hashable, Sendable {
    package var number: Int

    package init(_ number: Int) { self.number = number }
}

/// A look at the outside, or a change of it, beside the channels.
package enum Work: Sendable {
    case http(HTTPRequest, Trust)
    /// A program to its end, such as `--version`. `input` is written, then its input ends.
    case run(ChildPlan, input: [UInt8], outputLimit: Int, deadline: Duration)
    case read(path: String, from: Int64, limit: Int)
    /// A piece of a child's own log, for a sentence: the host reads it, and replaces secrets.
    case complaints(log: String, from: Int64, limit: Int)
    /// Whole or not at all, 0600, in a folder that the connection may write to.
    case write(path: String, [UInt8])
    /// A lock file, made where it is missing, that no other connection and no other process holds. Held until
    /// `unlock`, or until the process ends. Never waited for: `full` where it is held.
    case lock(path: String)
    case unlock(path: String)
    /// Paths that match, sorted; `*` matches any part of one component.
    case find(pattern: String, limit: Int)
    /// Which of them run.
    case look(at: [ProcessName])
    /// With all that descend from it: SIGTERM, after the grace SIGKILL.
    case end(ProcessName, grace: Duration)
    /// In the journal, all or none; synced when it is finished. Never a secret.
    case keep([Fact])
    /// A private file of the connection, 0600: tokens that the agent gave. `keepSecret` replaces it whole; nil deletes it.
    case secret(name: String)
    case keepSecret(name: String, Secret?)
}

package enum WorkResult: Sendable {
    case answered(HTTPResponse)
    case ran(ProcessEnd, output: [UInt8], errors: String)
    /// `size`: of the whole file.
    case read([UInt8], size: Int64)
    case found([String])
    case alive([ProcessName])
    /// Nil: there is none.
    case secret(Secret?)
    /// Of `write`, `lock`, `unlock`, `end`, `keep`, `keepSecret`, and of a `send` with `telling`.
    case done
    case failed(WorkFailure)
}

package struct WorkFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case absent, forbidden, unreachable, timedOut, tooLarge
        /// The far side's certificate is not believed.
        case untrusted
        /// The listener's user is not trusted or not known.
        case foreignListener
        /// Too much is under way.
        case full
        case other
    }

    package var code: Code
    package var message: String
    /// It may still have been carried out.
    package var mayHaveLanded: Bool

    package init(_ code: Code, _ message: String, mayHaveLanded: Bool = false) {
        self.code = code
        self.message = message
        self.mayHaveLanded = mayHaveLanded
    }

    package var description: String { message }
}

/// The port to all that a machine's work touches.
package protocol WorkPort: Sendable {
    /// Never blocks. `completion` is called once, on any thread, also before this returns.
    func carryOut(_ work: Work, completion: @escaping @Sendable (WorkResult) -> Void)
}
