import Commands
import Glibc

/// Carries `body` out while no bridge can hold the state directory, and none can take it meanwhile.
///
/// The lock is the system's and ends with the process, however it ends; the file itself stays and means nothing.
func withExclusiveState<Value>(_ directory: String, _ body: () throws -> Value) throws -> Value {
    let path = directory + "/sophon-bridge.lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
        throw CommandFailure(
            code: .unexpected,
            message: "cannot open \(path): \(String(cString: strerror(errno))); let this user write there")
    }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        let isHeld = errno == EWOULDBLOCK
        throw CommandFailure(
            code: isHeld ? .stateInUse : .unexpected,
            message: isHeld
                ? "a bridge is running with \(directory); end it first, and start it again afterwards"
                : "cannot lock \(path): \(String(cString: strerror(errno))); use a directory on a local disk")
    }
    return try body()
}
