import FoundationEssentials
import LocalServer
import Locking

/// The files behind the links of the user's attachments. The app's upload is not documented; a tester puts them here.
struct AttachmentFiles {
    struct File {
        var mime: String
        var bytes: [UInt8]
        /// Status of the download's answer; other than 200 for expired links.
        var status: Int
    }

    /// Bytes of all files together; the oldest are removed first.
    static let limit = 128 << 20

    private var files: [String: File] = [:]
    private var order: [String] = []
    private var size = 0
    private var lastNumber = 0

    subscript(key: String) -> File? { files[key] }

    /// Adds a file and returns its key. A single file over the limit is not kept.
    mutating func add(_ file: File) -> String {
        lastNumber += 1
        let key = "u/file\(lastNumber)"
        files[key] = file
        order.append(key)
        size += file.bytes.count
        while size > Self.limit, let oldest = order.first {
            size -= files[oldest]?.bytes.count ?? 0
            files[oldest] = nil
            order.removeFirst()
        }
        return key
    }
}

extension RelaySimulator {
    private struct Attachment: Encodable {
        let key: String
        let mime: String
        let size: Int
        let name: String?
        let url: String
    }

    /// `POST /v1/simulator/files?name=a.png`: the body is the file; `size=5000000` makes that many bytes instead.
    /// The answer is an element of `attachments` for `POST /v1/me/sessions/:id/send`.
    func addFile(_ request: LocalRequest) -> LocalResponse {
        let wantedSize = Self.query("size", in: request.target).map { Int($0) }
        let status = Self.query("status", in: request.target).map { Int($0) } ?? 200
        guard wantedSize == nil || (0...67_108_864).contains((wantedSize ?? nil) ?? -1), let status,
            (200...599).contains(status)
        else {
            return ControlReply.failure(
                400, "invalid_request",
                "size must be 0 to 67108864 and status 200 to 599; leave out what you do not need.")
        }
        let bytes = (wantedSize ?? nil).map { [UInt8](repeating: UInt8(ascii: "x"), count: $0) } ?? request.body
        let mime = request.header("Content-Type") ?? "application/octet-stream"
        let key = state.withLock { $0.files.add(AttachmentFiles.File(mime: mime, bytes: bytes, status: status)) }
        return ControlReply.success(
            Attachment(
                key: key, mime: mime, size: bytes.count, name: Self.query("name", in: request.target),
                url: "\(baseURL)/v1/files/\(key)"))
    }

    /// `GET /v1/files/:key`: the link is its own permission (relay.md#sessionmessage-the-user-wrote).
    func file(_ request: LocalRequest) -> LocalResponse {
        let key = String(request.path.dropFirst("/v1/files/".count))
        guard let file = state.withLock({ $0.files[key] }) else {
            return ControlReply.failure(404, "not_found", "There is no such file.")
        }
        guard file.status == 200 else { return ControlReply.failure(file.status, "file_refused", "As asked for.") }
        return LocalResponse(status: 200, headers: [LocalHeader("Content-Type", file.mime)], body: file.bytes)
    }
}
