/// The private content of a call, as the members that replace its plain ones (relay.md#end-to-end-encryption). Sealed
/// once and stored with the call: a second sealing would be another call under the same key.
package struct SealedContent: Hashable, Sendable {
    package enum Field: String, Hashable, Sendable, CaseIterable {
        case text = "text_ct"
        case delta = "delta_ct"
        case statusLabel = "status_label_ct"
        case arguments = "args_ct"
        case partialResult = "partial_result_ct"
        case error = "error_ct"
        case result = "result_ct"
        case details = "details_ct"
        case path = "path_ct"
        case displayName = "display_name_ct"
        case blindIndex = "path_blind_idx"
    }

    package struct Member: Hashable, Sendable {
        package var field: Field
        /// Base64.
        package var sealed: String

        package init(_ field: Field, _ sealed: String) {
            self.field = field
            self.sealed = sealed
        }
    }

    /// Ordered as on the wire. Missing content has no member.
    package var members: [Member]

    package init(_ members: [Member]) { self.members = members }

    package subscript(_ field: Field) -> String? { members.first { $0.field == field }?.sealed }
}
