// `/v1/simulator/faults`: plans, lists and forgets faults.
extension Relay {
    static let faultRoutes = [
        "GET /v1/simulator/faults", "POST /v1/simulator/faults", "DELETE /v1/simulator/faults",
    ]

    private static let example = #"{"kind":"429","count":2,"retry_after_ms":500}"#

    mutating func orderFault(_ body: [UInt8]) throws(Refusal) -> [UInt8] {
        guard let root = try? JSONParser.parse(body), root["kind"]?.string != nil else {
            throw Refusal(
                status: 400, code: "invalid_request",
                message: "The body must be a JSON object such as \(Self.example); kind is mix or one of "
                    + FaultKind.names.joined(separator: ", ") + ".")
        }
        var order = Fields(root)
        let name = order.required("kind", atMost: 64)
        guard name != "mix" else { return try orderMix(order) }
        let kind = try Self.kind(name)
        let count = order.integer("count", 1...100_000) ?? 1
        let method = order.optional("method", atMost: 64)
        if method != nil, kind.target != .call {
            order.complain("method", .custom, "expected only with faults of calls", .malformedRequest)
        }
        let parameters = Self.parameters(&order)
        Self.checkStatus(of: kind, parameters, &order)
        try order.check()
        plan(kind, method: method, count: count, parameters)
        return JSONWriter.object { $0.field("planned", Int64(count)) }
    }

    /// Refuses an unknown kind with one clear sentence.
    private static func kind(_ name: String) throws(Refusal) -> FaultKind {
        guard let kind = FaultKind.named(name) else {
            throw Refusal(
                status: 400, code: "invalid_request",
                message:
                    "kind is \"\(name.prefix(64))\", expected mix or one of \(FaultKind.names.joined(separator: ", "))."
            )
        }
        return kind
    }

    /// Refuses a status below 400 unless the fault is a page: in an envelope it would contradict `ok`.
    static func checkStatus(of kind: FaultKind, _ parameters: FaultParameters, _ order: inout Fields) {
        guard let status = parameters.status, status < 400, !kind.isPage else { return }
        order.complain("status", .custom, "expected 400 to 599", .malformedRequest)
    }

    static func parameters(_ order: inout Fields) -> FaultParameters {
        var parameters = FaultParameters()
        parameters.milliseconds = order.integer("milliseconds", 1...600_000)
        parameters.retryAfterMilliseconds = order.integer("retry_after_ms", 0...172_800_000).map(Int64.init)
        parameters.status = order.integer("status", 200...599)
        parameters.path = order.optional("path", atMost: 64)
        if case .number? = order.member("code") {
            parameters.closeCode = closeCode(&order)
        } else {
            parameters.errorCode = order.optional("code", atMost: 64)
        }
        parameters.errorCode = order.optional("error", atMost: 64) ?? parameters.errorCode
        return parameters
    }

    private mutating func orderMix(_ order: Fields) throws(Refusal) -> [UInt8] {
        var order = order
        let seed = order.integer("seed", 0...Int.max) ?? 1
        let rate = order.member("rate").map { $0.double ?? -1 } ?? 0.05
        if !(0...1).contains(rate) {
            order.complain("rate", .invalidType, "expected a number from 0 to 1", .malformedRequest)
        }
        var kinds: [FaultKind] = []
        if let member = order.member("kinds") {
            guard case .array(let list) = member, list.count <= 100 else {
                order.complain("kinds", .invalidType, "expected a list of kinds", .malformedRequest)
                try order.check()
                return []
            }
            for element in list { kinds.append(try Self.kind(element.string ?? element.text)) }
        }
        try order.check()
        mixFaults(FaultMix(seed: UInt64(seed), rate: rate, kinds: kinds))
        return JSONWriter.object { $0.field("planned", Int64(0)) }
    }

    /// Grants that a fault holds back go out.
    mutating func forgetAllFaults(at now: Moment) {
        forgetFaults()
        forgetSocketFaults()
        queueHeldGrants(at: now)
    }

    /// Planned faults, oldest first, calls before sockets: `kind`, `method` if it waits for one, `left`.
    package func plannedFaults() -> [(kind: String, method: String?, left: Int)] {
        faults.all.map { ($0.kind, $0.method, $0.left) }
    }

    func faultsAsJSON() -> [UInt8] {
        JSONWriter.object { result in
            faultReport.write(to: &result)
            result.array("kinds") { list in
                for kind in FaultKind.all {
                    list.objectElement { element in
                        element.field("kind", kind.name)
                        element.field("strikes", kind.target.rawValue)
                        element.field("what", kind.sentence)
                        element.field("is_bearable", kind.isBearable)
                    }
                }
            }
        }
    }
}
