package import Vocabulary

/// What a person can do about a link that is down; it is also retried automatically.
package struct LinkRemedy: Hashable, Sendable {
    package var words: String
    package var exitCode: ExitCode?

    package init(_ words: String, exitCode: ExitCode? = nil) {
        self.words = words
        self.exitCode = exitCode
    }
}
