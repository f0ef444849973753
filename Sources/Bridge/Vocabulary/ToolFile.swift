/// A file that a tool call reads or changes, as its agent names it.
package struct ToolFile: Hashable, Sendable {
    /// As the relay names it (relay.md#notifytoolfile).
    package enum Use: String, Hashable, Sendable { case read, write, edit }

    package var use: Use
    /// Absolute, from the home folder (`~/`), or below the working folder of this process (`./`). Any other is relative to a folder that
    /// is not known, and leads nowhere.
    package var path: String

    package init(_ use: Use, _ path: String) {
        self.use = use
        self.path = path
    }
}
