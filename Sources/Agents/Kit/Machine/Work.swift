package import Vocabulary

package struct WorkID: Hashable, Sendable {
    package var number: Int

    package init(_ number: Int) { self.number = number }
}

/// A look at the outside, or a change of it, beside the channels.
package enum Work: Sendable {
    case http(HTTPRequest, Trust)
    /// Runs a program to its end, such as `--version`. The program gets `input`, then the end of its input.
    case run(ChildPlan, input: [UInt8], outputLimit: Int, deadline: Duration)
    case read(path: String, from: Int64, limit: Int)
    /// A piece of a child's own log, for a sentence. The host reads it and masks secrets.
    case complaints(log: String, from: Int64, limit: Int)
    /// Writes the whole file or nothing, 0600, in a folder that the connection may write to.
    case write(path: String, [UInt8])
    /// Takes a lock file, made if missing, against other connections and processes, until `unlock` or the end of the process. The
    /// work never waits: it fails with `full` if the lock is held.
    case lock(path: String)
    case unlock(path: String)
    /// Matching paths, sorted; `*` matches any part of one component.
    case find(pattern: String, limit: Int)
    /// Finds which of these processes run.
    case look(at: [ProcessName])
    /// Ends a process and all its descendants: SIGTERM, and SIGKILL after the grace.
    case end(ProcessName, grace: Duration)
    /// Keeps all facts in the journal or none, synced before it finishes. Never a secret.
    case keep([Fact])
    /// Reads a private file of the connection, 0600, with a token from the agent. `keepSecret` replaces the whole file; nil deletes
    /// it.
    case secret(name: String)
    case keepSecret(name: String, Secret?)
}

package enum WorkResult: Sendable {
    case answered(HTTPResponse)
    case ran(ProcessEnd, output: [UInt8], errors: String)
    /// `size`: bytes of the whole file.
    case read([UInt8], size: Int64)
    case found([String])
    case alive([ProcessName])
    /// Nil if no such secret is stored.
    case secret(Secret?)
    /// Result of `write`, `lock`, `unlock`, `end`, `keep`, `keepSecret`, and of a `send` with `telling`.
    case done
    case failed(WorkFailure)
}

package struct WorkFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case absent, forbidden, unreachable, timedOut, tooLarge
        /// The far side's certificate is not trusted.
        case untrusted
        /// The listener's user is not trusted, or unknown.
        case foreignListener
        /// Too many works are open, or the lock is held.
        case full
        case other
    }

    package var code: Code
    package var message: String
    /// The work may still have been carried out.
    package var mayHaveLanded: Bool

    package init(_ code: Code, _ message: String, mayHaveLanded: Bool = false) {
        self.code = code
        self.message = message
        self.mayHaveLanded = mayHaveLanded
    }

    package var description: String { message }
}

/// Port to the outside that a machine's works touch.
package protocol WorkPort: Sendable {
    /// Never blocks. `completion` is called once, on any thread, possibly before this returns.
    func carryOut(_ work: Work, completion: @escaping @Sendable (WorkResult) -> Void)
}
