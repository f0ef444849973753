import RelayRules
import Sealing
import Vocabulary

#if PLANTED_FAULTS
    /// Calls that passed the edge of one side.
    struct FaultyCalls {
        private var keys: Set<String> = []
        /// Newest delta of each message whose end the relay lacks.
        private var heldDeltas: [String: RawRequest] = [:]

        mutating func carry(
            _ request: RawRequest, to relay: inout Relay, _ fault: PlantedFault, _ faults: CoreFaults, at moment: Moment
        ) -> Exchange {
            let changed = leaves(request, relay, fault, faults)
            let (method, json) = (changed.relayMethod, changed.json)
            if let answer = answers(changed, to: &relay, fault, faults, at: moment) { return answer }
            if fault == .askedAfterStop, method != "requestApproval",
                let card = faults.asks.cardAfterStop(
                    in: json.member("session_id") ?? "", pending: relay.pendingApprovals)
            {
                _ = relay.respond(to: card, at: moment)
            }
            var exchange = relay.respond(to: changed, at: moment)
            if method == "requestApproval", exchange.response.status == 200 {
                faults.asks.asked(changed, at: faults.now)
            }
            switch fault {
            case .endBeforeLastDelta where method == "sendMessageEnd":
                let message = json.member("message_id") ?? ""
                if let delta = heldDeltas.removeValue(forKey: message) { _ = relay.respond(to: delta, at: moment) }
            case .taskFinishedTwice where method == "finishTask" && exchange.response.status == 200:
                var again = json
                again.change("idempotency_key") { $0 + "-b" }
                _ = relay.respond(to: changed.with(again), at: moment)
            case .placeholderNotAwaited where method == "sendMessage" && exchange.response.status == 200:
                guard let interaction = json.member("interaction_id") else { break }
                exchange.change { $0.change("message_id") { _ in interaction } }
            case .bucketTrustsRemaining: exchange.tellsFull()
            case .openRefusedEndsTurn where json.isOpen && exchange.isRefusal: exchange = .word(410, "session_deleted")
            case .refusedQuestionStays where exchange.code == "content_blocked" && !json.isOpen:
                exchange = .taken(#"{"message_id":"msg_refused"}"#)
            case .approvalDeniedAtOnce where method == "requestApproval" && exchange.isRefusal:
                faults.asks.refused[FaultyAsks.base(json.member("approval_id") ?? "")] = exchange
            case .mirroredRunAborted where exchange.response.status == 404 || exchange.response.status == 410:
                faults.abortForeign()
            default: break
            }
            return exchange
        }

        // MARK: What leaves

        private mutating func leaves(
            _ request: RawRequest, _ relay: Relay, _ fault: PlantedFault, _ faults: CoreFaults
        ) -> RawRequest {
            var json = request.json
            let isRetry = json.member("idempotency_key").map { !keys.insert($0).inserted } ?? false
            switch fault {
            case .keyWithoutEpoch: json.change("idempotency_key") { Self.withoutEpoch($0) }
            case .retryRecoalesces where isRetry: json.change("delta") { $0 + " and more" }
            case .sealedAgain where isRetry: faults.seal(&json, relay) { $0 }
            case .keyTakenInUse: faults.seal(&json, relay) { _ in nil }
            case .endInTheOpen where request.relayMethod == "sendMessageEnd": faults.open(&json, relay)
            default: return request
            }
            return request.with(json)
        }

        /// A delta's key ends with `-d`, the epoch, and its number.
        private static func withoutEpoch(_ key: String) -> String {
            var parts = key.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count > 2, parts[parts.count - 2].wholeMatch(of: /d[0-9]+/) != nil else { return key }
            let number = parts.removeLast()
            parts[parts.count - 1] = "d\(number)"
            return parts.joined(separator: "-")
        }

        /// Answer of the edge, or nil if the relay answers.
        private mutating func answers(
            _ request: RawRequest, to relay: inout Relay, _ fault: PlantedFault, _ faults: CoreFaults, at moment: Moment
        ) -> Exchange? {
            let json = request.json
            switch (fault, request.relayMethod) {
            case (.endBeforeLastDelta, "sendMessageDelta"):
                guard let message = json.member("message_id") else { return nil }
                if let earlier = heldDeltas.updateValue(request, forKey: message) {
                    _ = relay.respond(to: earlier, at: moment)
                }
                return .taken("{}")
            case (.approvalDeniedAtOnce, "requestApproval"):
                return faults.asks.refused[FaultyAsks.base(json.member("approval_id") ?? "")]
            case (.signOfLifeMissed, "requestApproval"):
                guard let wroteAt = faults.asks.wroteAt, faults.now - wroteAt < .seconds(20),
                    json.member("approval_id")?.contains("-ask-") == true
                else { return nil }
                return .taken("{}")
            default: return nil
            }
        }
    }

    extension CoreFaults {
        /// Seals the texts of a message again, under the key that `key` picks, or the chat's newest if it picks nil.
        fileprivate func seal(_ json: inout CompactJSON, _ relay: Relay, under key: (Int) -> Int?) {
            guard let side, let session = session(of: json, relay), let phone = side.sealing.phones.first else {
                return
            }
            let keys = side.keys(of: session)
            for name in ["text_ct", "delta_ct"] {
                guard let sealed = json.member(name), let opened = side.opened(sealed, .messages, in: session),
                    let old = opened.key
                else { continue }
                guard let new = key(old).map({ keys[$0] }) ?? phone.keys[session]?.last else { continue }
                let sealer = SessionSealer(SessionID(session), key: new, library: phone.library)
                json.change(name) { _ in
                    sealer.seal(opened.text, .messages, random: SeededSecrets(UInt64(sealed.utf8.count)))
                }
            }
        }

        fileprivate func open(_ json: inout CompactJSON, _ relay: Relay) {
            guard let session = session(of: json, relay), let sealed = json.member("text_ct"),
                let opened = side?.opened(sealed, .messages, in: session)
            else { return }
            let escaped = opened.text.map { letter in
                switch letter {
                case "\n": "\\n"
                case "\"", "\\": "\\\(letter)"
                default: String(letter)
                }
            }
            json.change("text_ct") { _ in escaped.joined() }
            json.replace(#""text_ct""#, with: #""text""#)
        }

        private func session(of json: CompactJSON, _ relay: Relay) -> String? {
            if let session = json.member("session_id") { return session }
            let message = json.member("message_id")
            return relay.sessions.first { $0.messages.contains { $0.id == message } }?.id
        }
    }

    // MARK: Texts

    /// Compact JSON. Reads and changes members with a text value.
    struct CompactJSON {
        var text: String

        /// The first value of that name, escapes included.
        func member(_ name: String) -> String? { range(name).map { String(text[$0]) } }

        /// The second value of that name. An update's own `type` stands behind its frame's.
        func second(_ name: String) -> String? {
            guard let first = range(name) else { return nil }
            return CompactJSON(text: String(text[first.upperBound...])).member(name)
        }

        mutating func change(_ name: String, _ change: (String) -> String) {
            guard let range = range(name) else { return }
            text.replaceSubrange(range, with: change(String(text[range])))
        }

        mutating func replace(_ words: String, with others: String) {
            text = text.split(separator: words, omittingEmptySubsequences: false).joined(separator: others)
        }

        var isOpen: Bool { member("idempotency_key")?.contains("-open") == true }

        private func range(_ name: String) -> Range<String.Index>? {
            guard let start = text.firstRange(of: "\"\(name)\":\"")?.upperBound else { return nil }
            var end = start
            while end < text.endIndex, text[end] != "\"" {
                if text[end] == "\\" { end = text.index(after: end) }
                end = text.index(after: end)
            }
            return start..<end
        }
    }

    extension RawRequest {
        fileprivate var relayMethod: String { target.split(separator: "/").last.map(String.init) ?? "" }
        var json: CompactJSON { CompactJSON(text: String(decoding: body, as: UTF8.self)) }

        func with(_ json: CompactJSON) -> RawRequest {
            var request = self
            request.body = Array(json.text.utf8)
            return request
        }
    }

    extension Exchange {
        fileprivate static func taken(_ result: String) -> Exchange {
            let body = #"{"ok":true,"result":\#(result)}"#
            return Exchange(
                response: RawResponse(status: 200, headers: [], body: Array(body.utf8)), delivery: .normal)
        }

        fileprivate static func word(_ status: Int, _ code: String) -> Exchange {
            let body = #"{"ok":false,"error":{"code":"\#(code)","message":""}}"#
            return Exchange(
                response: RawResponse(status: status, headers: [], body: Array(body.utf8)), delivery: .normal)
        }

        fileprivate var code: String? {
            CompactJSON(text: String(decoding: response.body, as: UTF8.self)).member("code")
        }

        /// The relay refuses the call itself and would refuse each retry.
        fileprivate var isRefusal: Bool {
            [400, 403, 413, 422, 451].contains(response.status)
                && !["invalid_token_location", "installation_revoked"].contains(code)
        }

        fileprivate mutating func change(_ change: (inout CompactJSON) -> Void) {
            var json = CompactJSON(text: String(decoding: response.body, as: UTF8.self))
            change(&json)
            response.body = Array(json.text.utf8)
        }

        /// Makes the relay's headers report a full bucket.
        fileprivate mutating func tellsFull() {
            let limit = response.headers.first { $0.name.lowercased() == "x-ratelimit-limit" }?.value
            guard let limit else { return }
            for index in response.headers.indices {
                switch response.headers[index].name.lowercased() {
                case "x-ratelimit-remaining": response.headers[index] = RawHeader("X-RateLimit-Remaining", limit)
                case "x-ratelimit-reset-after": response.headers[index] = RawHeader("X-RateLimit-Reset-After", "0")
                default: break
                }
            }
        }
    }
#endif
