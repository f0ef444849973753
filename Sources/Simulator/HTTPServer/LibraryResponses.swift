import CMicrohttpd

// Answers and headers across the C border. This code releases every response after queuing it: the connection holds its own reference.

func connectionHeaders(_ connection: Connection) -> [LocalHeader] {
    var headers: [LocalHeader] = []
    withUnsafeMutablePointer(to: &headers) { pointer in
        _ = MHD_get_connection_values_n(
            connection.pointer, .HEADER_KIND,
            { list, _, name, nameSize, value, valueSize in
                list?.assumingMemoryBound(to: [LocalHeader].self).pointee.append(
                    LocalHeader(text(name, nameSize), text(value, valueSize)))
                return .YES
            }, pointer)
    }
    return headers
}

private func text(_ start: UnsafePointer<CChar>?, _ size: Int) -> String {
    guard let start else { return "" }
    return String(decoding: UnsafeRawBufferPointer(start: start, count: size), as: UTF8.self)
}

func wholeResponse(_ response: LocalResponse, on connection: Connection) -> MHD_Result {
    let made = response.body.withUnsafeBytes { bytes in
        MHD_create_response_from_buffer(
            bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
    }
    return queue(made, response, on: connection)
}

/// A class, because one raw pointer must refer to it.
private final class SourceBox {
    let source: any StreamSource

    init(_ source: any StreamSource) { self.source = source }
}

func streamResponse(_ head: LocalResponse, _ stream: any StreamSource, on connection: Connection) -> MHD_Result {
    // The library allocates a block for each response besides the connection's own buffer, and reads into that buffer with chunked encoding.
    let blockSize = 4_096
    let made = MHD_create_response_from_callback(
        cmicrohttpd_size_unknown(), blockSize,
        { stream, _, buffer, size in
            guard let stream, let buffer else { return cmicrohttpd_end_with_error() }
            return Unmanaged<SourceBox>.fromOpaque(stream).takeUnretainedValue().source
                .read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
        }, Unmanaged.passRetained(SourceBox(stream)).toOpaque(),
        { stream in
            guard let stream else { return }
            Unmanaged<SourceBox>.fromOpaque(stream).release()
        })
    return queue(made, head, on: connection)
}

/// The library adds `Connection: Upgrade`, sends the head, and then hands the socket over. It does not report a client
/// that has gone before: so the request keeps `upgrade` alive, and no reference is retained here.
func upgradeResponse(_ head: LocalResponse, _ upgrade: PendingUpgrade, on connection: Connection) -> MHD_Result {
    let made = MHD_create_response_for_upgrade(
        { upgrade, _, _, early, earlySize, socket, handle in
            guard let upgrade, let handle else { return }
            let early = UnsafeRawBufferPointer(start: early, count: earlySize)
            Unmanaged<PendingUpgrade>.fromOpaque(upgrade).takeUnretainedValue()
                .begin(socket, early: Array(early), handle: handle)
        }, Unmanaged.passUnretained(upgrade).toOpaque())
    return queue(made, head, on: connection)
}

private let ownHeaders: Set<String> = ["content-length", "transfer-encoding", "date", "keep-alive"]

private func queue(_ made: OpaquePointer?, _ head: LocalResponse, on connection: Connection) -> MHD_Result {
    guard let made else { return .NO }
    defer { MHD_destroy_response(made) }
    for header in head.headers where !ownHeaders.contains(header.name.lowercased()) {
        // The library refuses names and values that would break the head apart; such an answer is our own mistake.
        guard MHD_add_response_header(made, header.name, header.value) == .YES else { return .NO }
    }
    return MHD_queue_response(connection.pointer, UInt32(head.status), made)
}
