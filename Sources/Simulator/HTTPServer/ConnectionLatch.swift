import CMicrohttpd

/// A connection of the library.
struct Connection: @unchecked Sendable {
    // Unchecked, because the pointer is used by the library's own thread, or under the lock of the owner of a latch, and
    // never after the request completed; the compiler sees none of that.
    let pointer: OpaquePointer
}

/// The connection of a request that may wait: its state between the library's thread and the thread that wakes it.
///
/// States: *elsewhere* (no connection: not there yet, or gone), *running* (the library may call us), *suspended* (it will
/// not, until resumed). A connection is resumed exactly once for each time it was suspended, and never after it completed:
/// the library aborts the process otherwise. So this value lives under its owner's lock, and the calls into the library
/// are made inside that lock. That is safe because the library takes only its own short lock in them and calls no callback.
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

/// What the server must wake before it stops: stopping with a suspended connection aborts the process.
protocol Wakeable: AnyObject, Sendable {
    func serverStops()
}
