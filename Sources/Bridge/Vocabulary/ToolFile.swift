/// A file that a tool call reads or changes, as its agent names it.
package struct ToolFile: Hashable, Sendable {
    /// Use in the relay's words (relay.md#notifytoolfile).
    package enum Use: String, Hashable, Sendable { case read, write, edit }

    package var use: Use
    /// Absolute, from the home folder (`~/`), or below the working folder of this process (`./`).
    /// Any other path is relative to an unknown folder and leads nowhere.
    package var path: String

    package init(_ use: Use, _ path: String) {
        self.use = use
        self.path = path
    }
}
