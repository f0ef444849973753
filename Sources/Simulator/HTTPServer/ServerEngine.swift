import CMicrohttpd
import Locking

/// Shared state of one running server's callbacks: the settings, the handler, and the list of waiters to wake at the end.
final class ServerEngine: Sendable {
    let handler: @Sendable (LocalRequest) -> LocalAnswer
    /// The check of origins and host names, or nil if it is disabled.
    let admission: Admission?
    let bodyLimit: Int
    let refusal: @Sendable (Int, String) -> LocalResponse
    /// Size up to which a body over the limit is drained; beyond it the connection is closed.
    var discardLimit: Int { bodyLimit * 4 }

    let sockets = ServedSockets()

    private struct Wakeables {
        var stops = false
        var waiting: [ObjectIdentifier: any Wakeable] = [:]
    }

    private let wakeables = Locked(Wakeables())

    init(
        admission: Admission?, bodyLimit: Int, refusal: @escaping @Sendable (Int, String) -> LocalResponse,
        handler: @escaping @Sendable (LocalRequest) -> LocalAnswer
    ) {
        self.refusal = refusal
        self.admission = admission
        self.bodyLimit = bodyLimit
        self.handler = handler
    }

    /// Adds a waiter. False if the server stops: nothing may stay suspended then, so the waiter is woken at once.
    @discardableResult
    func remember(_ wakeable: any Wakeable) -> Bool {
        let stops = wakeables.withLock { wakeables in
            wakeables.waiting[ObjectIdentifier(wakeable)] = wakeable
            return wakeables.stops
        }
        if stops { wakeable.serverStops() }
        return !stops
    }

    func forget(_ wakeable: any Wakeable) {
        wakeables.withLock { _ = $0.waiting.removeValue(forKey: ObjectIdentifier(wakeable)) }
    }

    var isStopping: Bool { wakeables.withLock { $0.stops } }

    /// Refuses new requests from now on, and resumes suspended ones.
    func stop() {
        let all = wakeables.withLock { wakeables in
            wakeables.stops = true
            return Array(wakeables.waiting.values)
        }
        for wakeable in all { wakeable.serverStops() }
    }
}

/// A running server of the library.
struct Daemon: @unchecked Sendable {
    // Unchecked: any thread may use a daemon of the library, and only `LocalServer.stop` ends it, once.
    let pointer: OpaquePointer
}

// The library's callbacks. `owner` is the engine, which the server keeps alive until the library's thread has ended.
// Each request is retained from its first line until the library reports its completion.

func startLibrary(
    _ listening: ListeningSocket, _ settings: LocalServer.Settings, engine: ServerEngine
) -> Daemon? {
    let daemon = cmicrohttpd_start(
        listening.descriptor, UInt32(settings.connectionLimit), UInt32(settings.connectionLimitPerAddress),
        UInt32(settings.idleSeconds),
        { owner, connection, _, method, _, upload, uploadSize, request in
            guard let owner, let connection, let method, let uploadSize, let request = request?.pointee else {
                return .NO
            }
            let bytes = UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
            uploadSize.pointee = 0
            return Unmanaged<OpenRequest>.fromOpaque(request).takeUnretainedValue()
                .proceed(
                    Connection(pointer: connection), method: String(cString: method), upload: bytes,
                    engine: Unmanaged<ServerEngine>.fromOpaque(owner).takeUnretainedValue())
        },
        Unmanaged.passUnretained(engine).toOpaque(),
        { _, target, _ in
            Unmanaged.passRetained(OpenRequest(target: target.map { String(cString: $0) } ?? "")).toOpaque()
        },
        { owner, _, request, _ in
            guard let owner, let pointer = request?.pointee else { return }
            request?.pointee = nil
            let engine = Unmanaged<ServerEngine>.fromOpaque(owner).takeUnretainedValue()
            Unmanaged<OpenRequest>.fromOpaque(pointer).takeRetainedValue().completed(engine)
        })
    return daemon.map(Daemon.init)
}
