import JSONReading
package import Vocabulary

/// A question of the relay, answered on the same socket (relay.md#relay-to-bridge-rpcs-req_id-frames).
package struct RelayRequest: Hashable, Sendable {
    package enum Question: Hashable, Sendable {
        case models
        /// `parameters` is a JSON object.
        case schedule(verb: String, parameters: JSONText)
        case file(FileQuestion)
    }

    package var id: String
    package var question: Question
    /// Error code for a failure without a better one.
    package var failure: String

    package init(id: String, question: Question, failure: String) {
        self.id = id
        self.question = question
        self.failure = failure
    }
}

/// A file in question: named by its blind index if sealed, by its path in the open.
package struct FileQuestion: Hashable, Sendable {
    package var session: String?
    package var blindIndex: String?
    package var sealedPath: String?
    package var path: String?
    package var vouchedPath: String?

    package init(
        session: String? = nil, blindIndex: String? = nil, sealedPath: String? = nil, path: String? = nil,
        vouchedPath: String? = nil
    ) {
        self.session = session
        self.blindIndex = blindIndex
        self.sealedPath = sealedPath
        self.path = path
        self.vouchedPath = vouchedPath
    }
}

/// Answer to a request.
package enum RelayReply: Hashable, Sendable {
    /// Members of the answer, as one JSON object without `type` and `req_id`.
    case members([UInt8])
    /// `details` has further members of the error, as one JSON object.
    case failed(code: String, message: String, details: [UInt8]? = nil)

    var size: Int { if case .members(let members) = self { members.count } else { 0 } }
}

extension RelayRequest {
    static let verbs: Set = ["list", "status", "add", "update", "remove", "run", "runs"]
    private static let textLimit = 16 << 10
    private static let parametersLimit = 64 << 10

    enum Reading {
        case request(RelayRequest)
        /// A known request with invalid members.
        case malformed(code: String, message: String)
        case unknown
    }

    static func read(_ root: FrameNode, _ type: String, id: String) -> Reading {
        switch type {
        case "models.list.req":
            return .request(RelayRequest(id: id, question: .models, failure: "models_list_failed"))
        case "file.read.req":
            return .request(RelayRequest(id: id, question: .file(FileQuestion(root)), failure: "unknown"))
        default: return schedule(root, type, id: id)
        }
    }

    private static func schedule(_ root: FrameNode, _ type: String, id: String) -> Reading {
        guard type.hasPrefix("cron."), type.hasSuffix(".req") else { return .unknown }
        let verb = String(type.dropFirst(5).dropLast(4))
        guard verbs.contains(verb) else { return .unknown }
        let failure = "cron_\(verb)_failed"
        let parameters = root["params"]?.compact ?? JSONText(unchecked: "{}")
        guard root["params"]?.isObject ?? true else {
            return .malformed(code: failure, message: "params must be an object")
        }
        guard parameters.text.utf8.count <= parametersLimit else {
            return .malformed(code: failure, message: "params are larger than \(parametersLimit) bytes")
        }
        let question = Question.schedule(verb: verb, parameters: parameters)
        return .request(RelayRequest(id: id, question: question, failure: failure))
    }

    fileprivate static func text(_ node: FrameNode?) -> String? {
        node?.string.flatMap { $0.utf8.count <= textLimit ? $0 : nil }
    }
}

extension FileQuestion {
    fileprivate init(_ root: FrameNode) {
        self.init(
            session: RelayRequest.text(root["session_id"]), blindIndex: RelayRequest.text(root["blind_idx"]),
            sealedPath: RelayRequest.text(root["path_ct"]), path: RelayRequest.text(root["path"]),
            vouchedPath: RelayRequest.text(root["server_vouched_path"]))
    }
}
