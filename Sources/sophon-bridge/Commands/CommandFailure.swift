import Commands

/// Why a command ends, with the code that scripts see.
struct CommandFailure: Error {
    var code: ExitCode
    var message: String
}
