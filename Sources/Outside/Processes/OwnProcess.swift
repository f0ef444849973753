import CPosix

/// The process that we are.
package enum OwnProcess {
    /// From here on no other process of this user reads our memory, environment or open files by `/proc`: the tokens are there, and an
    /// agent may be such a process whether or not it is a child of ours.
    package static func hide() { sb_process_hide() }
}
