import CPosix

/// The bridge's own process.
package enum OwnProcess {
    /// Afterwards no other process of this user can read the bridge's memory, environment or open files by `/proc`.
    /// They contain the tokens, and an agent may be such a process, a child of the bridge or not.
    package static func hide() { sb_process_hide() }
}
