/// What a person can do about a link that is away; it is tried again by itself all the same.
package struct LinkRemedy: Hashable, Sendable {
    package var words: String
    /// What the command line documents for it.
    package var exitCode: Int32?

    package init(_ words: String, exitCode: Int32? = nil) {
        self.words = words
        self.exitCode = exitCode
    }
}
