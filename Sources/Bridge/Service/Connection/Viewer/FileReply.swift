package import Sealing
package import Vocabulary

/// The file that the phone requests (relay.md#relay-to-bridge-rpcs-req_id-frames).
package enum FileRequest: Hashable, Sendable {
    case sealed(SessionID, BlindIndex, path: String)
    case open(path: String, vouched: String)
    case malformed

    package init(session: String?, blindIndex: String?, sealedPath: String?, path: String?, vouchedPath: String?) {
        if let session, let index = blindIndex.flatMap({ BlindIndex($0) }), let sealedPath {
            self = .sealed(SessionID(session), index, path: sealedPath)
        } else if let path, let vouchedPath, blindIndex == nil, sealedPath == nil {
            self = .open(path: path, vouched: vouchedPath)
        } else {
            self = .malformed
        }
    }
}

package enum FileReply: Hashable, Sendable {
    case shown(ShownFile, sealed: [UInt8]?)
    case refused(FileRefusal)

    init(_ result: Result<ShownFile, FileRefusal>) {
        switch result {
        case .success(let file): self = .shown(file, sealed: nil)
        case .failure(let refusal): self = .refused(refusal)
        }
    }

    /// `seal` returns nil if the key is gone; the file does not go out in the open instead.
    init(_ result: Result<ShownFile, FileRefusal>, sealedBy seal: ([UInt8]) -> [UInt8]?) {
        switch result {
        case .success(let file):
            if let sealed = seal(file.bytes) {
                self = .shown(file, sealed: sealed)
            } else {
                self = .refused(.noSessionKey)
            }
        case .failure(let refusal): self = .refused(refusal)
        }
    }

    /// The answer without `type` and `req_id`.
    package var members: [UInt8] {
        var json = JSONObjectWriter()
        switch self {
        case .shown(let file, let sealed):
            json.string("mime_type", file.mimeType)
            json.integer("size_bytes", file.bytes.count)
            json.base64("base64", sealed ?? file.bytes)
            if sealed != nil { json.value("encrypted", JSONText(unchecked: "true")) }
        case .refused(let refusal):
            var error = JSONObjectWriter()
            error.string("code", refusal.code)
            if case .tooLarge(let size) = refusal { error.integer("size_bytes", size) }
            json.raw("error", error.finish())
        }
        return json.finish()
    }
}
