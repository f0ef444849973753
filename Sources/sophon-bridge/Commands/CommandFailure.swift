import Commands

/// Why a command ends, with the code that scripts see.
struct CommandFailure: Error, CustomStringConvertible {
    var code: ExitCode
    var message: String

    var description: String { message }
}
