/// What a call says that only the phone may read, as the members that replace its plain ones
/// (relay.md#end-to-end-encryption). It was sealed once, and is kept with the call: sealed again it would be another call under the same
/// key.
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
        /// In base64.
        package var sealed: String

        package init(_ field: Field, _ sealed: String) {
            self.field = field
            self.sealed = sealed
        }
    }

    /// In the order of the wire. A content that the call does not have has no member.
    package var members: [Member]

    package init(_ members: [Member]) { self.members = members }

    package subscript(_ field: Field) -> String? { members.first { $0.field == field }?.sealed }
}
