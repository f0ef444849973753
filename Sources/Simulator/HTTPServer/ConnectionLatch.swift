import CMicrohttpd

/// A connection of the library.
struct Connection: @unchecked Sendable {
    // Unchecked: only the library's own thread uses the pointer, or an owner of a latch under its lock,
    // and never after the request completed. The compiler sees none of that.
    let pointer: OpaquePointer
}

/// The connection of a request that may wait: its state between the library's thread and the thread that wakes it.
///
/// States: *elsewhere* (no connection: not there yet, or gone), *running* (the library may call us), *suspended* (it will not,
/// until resumed). A connection is resumed exactly once for each suspension, and never after it completed: otherwise the library
/// aborts the process. So this value lives under its owner's lock, which is held around the calls into the library. They are safe
/// there: the library takes only its own short lock in them and calls no callback.
struct ConnectionLatch {
    private var connection: Connection?
    private var isSuspended = false

    mutating func attach(_ connection: Connection) { self.connection = connection }

    mutating func suspend() {
        guard let connection, !isSuspended else { return }
        isSuspended = true
        MHD_suspend_connection(connection.pointer)
    }

    mutating func resume() {
        guard let connection, isSuspended else { return }
        isSuspended = false
        MHD_resume_connection(connection.pointer)
    }

    func hangUp() {
        if let connection { cmicrohttpd_hang_up(connection.pointer) }
    }

    mutating func detach() {
        connection = nil
        isSuspended = false
    }
}

/// Anything that the server must wake before it stops: the library aborts the process if a connection is suspended then.
protocol Wakeable: AnyObject, Sendable {
    func serverStops()
}
