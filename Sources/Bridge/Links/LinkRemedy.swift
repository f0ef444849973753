package import Vocabulary

/// Remedy for a person while a link is down; the link is also retried automatically.
package struct LinkRemedy: Hashable, Sendable {
    package var words: String
    package var exitCode: ExitCode?

    package init(_ words: String, exitCode: ExitCode? = nil) {
        self.words = words
        self.exitCode = exitCode
    }
}
