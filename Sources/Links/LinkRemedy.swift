/// What a person can do about a link that is down; it is also retried automatically.
package struct LinkRemedy: Hashable, Sendable {
    package var words: String
    /// What the command line documents for it.
    package var exitCode: Int32?

    package init(_ words: String, exitCode: Int32? = nil) {
        self.words = words
        self.exitCode = exitCode
    }
}
