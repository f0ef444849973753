/// Result of the phone's request for something that only the bridge has.
package enum RemoteView: Hashable, Sendable {
    case answered(RawResponse)
    /// The request went to the bridge; `remoteAnswer` returns its answer.
    case asked(String)
    /// The bridge in the same process must answer; `response(to:)` wraps its words. `fields` is a JSON object.
    case inside(type: String, fields: [UInt8])
}

// Requests that the relay passes on to the bridge with a `req_id` (relay.md#relay-to-bridge-rpcs-req_id-frames):
//
// - `GET /v1/me/sessions/:id/file?path=` or `?blind_idx=` as `file.read.req` (relay.md#rest);
// - `GET /v1/me/models` as `models.list.req`;
// - `GET /v1/me/cron` as `cron.list.req`, and `POST /v1/me/cron/:verb` with the parameters as its body.
//
// The app has models and routines too, but the documents name no routes: those here are ours, and so is
// the form: the bridge's answer in the envelope, and 504 if none comes in time.
extension Relay {
    package static func isForBridge(method: String, target: String) -> Bool {
        let segments = RequestTarget(target).segments
        return segments.starts(with: ["v1", "me"]) && view(method, Array(segments.dropFirst(2))) != nil
    }

    /// Passes the request on, or returns nil for another address.
    package mutating func viewRemote(_ request: RawRequest, at now: Moment) -> RemoteView? {
        let target = RequestTarget(request.target)
        guard target.segments.starts(with: ["v1", "me"]),
            let view = Self.view(request.method, Array(target.segments.dropFirst(2)))
        else { return nil }
        tick(at: now)
        do throws(Refusal) {
            guard authorisesPhone(request.headers) else {
                throw Refusal(status: 401, code: "invalid_token", message: "This is not the user's token.")
            }
            let (type, fields) = try question(view, target, request)
            guard let id = ask(type: type, fields: fields) else {
                if options.hasBridgeInside { return .inside(type: type, fields: Array(fields.text.utf8)) }
                throw Refusal(status: 503, code: "temporarily_unavailable", message: "No bridge is connected.")
            }
            return .asked(id)
        } catch {
            return .answered(Self.response(error))
        }
    }

    /// Nil until the bridge answers.
    package func remoteAnswer(_ id: String) -> RawResponse? {
        switch remoteRequest(id)?.outcome {
        case .waiting: return nil
        case .answered(let frame): return Self.response(to: frame)
        case .lost, .forgotten, nil: return Self.noAnswer
        }
    }

    /// `reply` has the members of an answer, as a JSON object.
    package static func response(to reply: [UInt8]) -> RawResponse {
        (try? JSONParser.parse(reply)).map { response(to: $0) } ?? noAnswer
    }

    package static var noAnswer: RawResponse {
        response(Refusal(status: 504, code: "upstream_error", message: "The bridge has not answered."))
    }

    // MARK: The question

    private enum View {
        case file(session: String)
        case models
        case cron(verb: String)
    }

    private static let cronVerbs = ["list", "status", "add", "update", "remove", "run", "runs"]

    private static func view(_ method: String, _ path: [String]) -> View? {
        switch (method, path.first, path.count) {
        case ("GET", "sessions", 3) where path[2] == "file": .file(session: path[1])
        case ("GET", "models", 1): .models
        case ("GET", "cron", 1): .cron(verb: "list")
        case ("POST", "cron", 2) where cronVerbs.contains(path[1]): .cron(verb: path[1])
        default: nil
        }
    }

    private func question(_ view: View, _ target: RequestTarget, _ request: RawRequest) throws(Refusal)
        -> (type: String, fields: JSONValue)
    {
        switch view {
        case .file(let session):
            try checkSession(session)
            return ("file.read.req", try fileFields(session, target))
        case .models: return ("models.list.req", .object([]))
        case .cron(let verb):
            _ = try Fields(body: request.body)
            let parameters = (try? JSONParser.parse(request.body)) ?? .object([])
            guard case .object = parameters else {
                throw Refusal(status: 400, code: "invalid_request", message: "The parameters must be a JSON object.")
            }
            return ("cron.\(verb).req", .object([JSONValue.Member(name: "params", value: parameters)]))
        }
    }

    private func fileFields(_ session: String, _ target: RequestTarget) throws(Refusal) -> JSONValue {
        if let index = target.parameter("blind_idx") {
            guard let file = chats.file(of: session, blindIndex: index) else {
                throw Refusal(status: 403, code: "permission_denied", message: "The bridge announced no such file.")
            }
            return .object([
                JSONValue.Member(name: "session_id", value: .string(session)),
                JSONValue.Member(name: "blind_idx", value: .string(index)),
                JSONValue.Member(name: "path_ct", value: .string(file.path)),
            ])
        }
        guard let path = target.parameter("path"), !path.isEmpty else {
            throw Refusal(status: 400, code: "invalid_request", message: "Name the file by path or blind_idx.")
        }
        return .object([
            JSONValue.Member(name: "path", value: .string(path)),
            JSONValue.Member(name: "server_vouched_path", value: .string(path)),
        ])
    }

    // MARK: The answer

    private static func response(to reply: JSONValue) -> RawResponse {
        if let error = reply["error"] {
            let code = error["code"]?.string ?? "unknown"
            let statuses = [
                "forbidden": 403, "permission_denied": 403, "not_found": 404, "too_large": 413, "invalid_request": 400,
            ]
            let message = error["message"]?.string ?? "The bridge answered with the error \(code)."
            return response(Refusal(status: statuses[code] ?? 502, code: code, message: message))
        }
        let result = JSONWriter.object { result in
            guard case .object(let members) = reply else { return }
            for member in members where member.name != "type" && member.name != "req_id" {
                result.field(member.name, json: member.value.text)
            }
        }
        return RawResponse(
            status: 200, headers: [RawHeader("Content-Type", "application/json")],
            body: Array(#"{"ok":true,"result":"#.utf8) + result + Array("}".utf8))
    }

    private static func response(_ refusal: Refusal) -> RawResponse {
        RawResponse(
            status: refusal.status, headers: [RawHeader("Content-Type", "application/json")], body: refusal.body)
    }
}
