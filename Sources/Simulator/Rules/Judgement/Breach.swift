/// A rule that the bridge broke.
package struct Breach: Sendable, Hashable {
    package var code: BreachCode
    package var sentence: String
    package var method: String
    package var request: String
    package var at: Moment

    package init(code: BreachCode, sentence: String, method: String, request: String, at: Moment) {
        self.code = code
        self.sentence = sentence
        self.method = method
        self.request = request
        self.at = at
    }
}

package enum BreachCode: String, Sendable, Hashable, CaseIterable {
    case malformedRequest, malformedEnvelope, oversized, badKey, missingKey, tokenInURL, badToken, revokedToken
    case unknownSession, unknownInteraction, unknownMessage, unknownTask, unknownDevice, unknownRoute
    case idempotencyConflict, messageFinalized, rateLimited, interactionExpired
    case secondPlaceholder, writeBeforeOpen, textMissingAtEnd, endWithOpenTasks
    case taskFinishedTwice, taskAfterEnd, taskUpdateAfterFinish, approvalAskedTwice, emptyApprovalMessage
    case malformedFrame, unknownFrame, lateHello, missedPong, unknownUpdate, unknownRequest
    /// Two calls of one (session, interaction) at once; detected by the server of the sockets.
    case overlap
}
