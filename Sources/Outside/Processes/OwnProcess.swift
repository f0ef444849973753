import CPosix

/// The bridge's own process.
package enum OwnProcess {
    /// Hides the bridge's memory, environment and open files in `/proc` from other processes of this user. Tokens are in them, and an
    /// agent may be such a process, a child of the bridge or not.
    package static func hide() { sb_process_hide() }
}
