// Deliberate faults, which prove that the simulation catches such faults. PLANTED_FAULTS compiles them in: in debug builds, and
// in the builds of `make sim`. The shipped program has none of them; `make size-check` verifies that.
#if PLANTED_FAULTS
    package enum PlantedFault: String, Hashable, Sendable, CaseIterable {
        /// A delta that is retried has more text than it had.
        case retryRecoalesces
        /// The end goes out although a delta of its turn waits or is under way.
        case endBeforeLastDelta
        /// Delta keys lack the epoch.
        case keyWithoutEpoch
        /// The bucket counts as full, whatever is under way.
        case bucketTrustsRemaining
        /// A snapshot is appended to the text.
        case snapshotAppended
        /// A task is finished once for each channel instead of once.
        case taskFinishedTwice
        /// Posts go out before the placeholder's message id is known.
        case placeholderNotAwaited
        /// One lane is served until its end; others starve.
        case laneStarves

        /// An update is acknowledged before its change is durable.
        case acknowledgedEarly
        /// A call that the relay has forgotten is sent again as a new one.
        case staleKeySent
        /// A number in a frame is used without a bound.
        case sequenceUnbounded
        /// Payloads of cards wait without a bound.
        case bytesUnbounded
        /// A gateway that asks for pairing is never dialled again.
        case pairingGivenUp
        /// A stopped connection opens its socket again after a new token, but not its lanes.
        case newTokenWithoutLanes
        /// The next process does not know a Stop's obligations.
        case abortForgotten
        /// An ask under a known id counts as the known one, even with another request.
        case fingerprintForgotten
        /// A card that shows only a part can be allowed.
        case cutAllowed
        /// An unanswered card is a denial to the agent.
        case expiryForwarded
        /// A tap on an earlier card decides an ask that has a newer card.
        case oldCardTaken
        /// After a Stop an ask without a card comes back.
        case askedAfterStop
        /// A sign of life brings no card back.
        case signOfLifeMissed
        /// A card shows the server's summary in place of the input.
        case summaryShown
        /// A card shows a command without its program.
        case programDropped
        /// A Stop leaves unconfirmed approvals in force, and a new link sends them again.
        case allowRepeated
        /// A Stop does not take back a message that waits for the disk.
        case sendAfterStop
        /// The second message of a turn is acknowledged and dropped.
        case secondMessageLost
        /// "Always" is granted without the limit that the person set.
        case scopeWidened

        /// A refusing status without the relay's envelope counts as the relay's word.
        case pageBelieved
        /// A turn whose placeholder is refused is given up, answer and all.
        case openRefusedEndsTurn
        /// An approval is denied at the agent after its first refusal, without a try with fewer fields.
        case approvalDeniedAtOnce
        /// A turn that gives up aborts a run that the bridge did not start.
        case mirroredRunAborted
        /// A job takes every run of its session, as long as the chat is open.
        case privateRunTaken
        /// A job whose chat the person deleted continues in it.
        case deletedChatKept

        /// A message leaves before the model that it names is set.
        case modelAfterMessage
        /// The next process does not know the model to restore for a message that names none.
        case choiceForgotten
        /// The runs of a gone chat continue, and its messages go to the agent.
        case endedChatAnswered
        /// A tool that was ended from outside continues.
        case toolGoesOn

        /// The answer to a question is given twice.
        case answeredTwice
        /// A Stop does not take back an answer that waits for the disk.
        case answeredAfterStop

        /// A retry of a sealed call is sealed again.
        case sealedAgain
        /// A sealed turn ends in the open.
        case endInTheOpen
        /// A turn switches to any key that its chat receives.
        case keyTakenInUse
        /// A chat's key is wrapped for a device that no person allowed.
        case unpinnedGranted
        /// A chat that has ended accepts a key that it did not have.
        case keyAfterEnd
        /// Without the book of devices, keys are wrapped for the next announced device.
        case bookForgotten
        /// Chats with lost keys count as chats that never had a key.
        case lostKeysForgotten
        /// A chat takes another key although no device was revoked.
        case keyWithoutRevocation
        /// A key that was replaced comes back.
        case replacedKeyTaken
        /// A chat of our own that comes back from the archive counts as one of a phone.
        case ownChatForgotten
        /// The next key of a chat removes the key of an open turn.
        case openKeyForgotten
        /// Each pairing pins the device that is announced after it.
        case pairedAnew
        /// After the token of another installation, chats continue in the open.
        case movedIntoTheOpen
        /// An older copy of the devices' file counts as the newest.
        case olderBookTaken
        /// A chat accepts any number of keys after a revocation.
        case keysWithoutEnd
        /// An envelope is accepted for a second message.
        case envelopeTakenTwice

        /// The files of a message stay on the disk after the agent took it.
        case filesLeftBehind
        /// The next process hands over a message with files again, though the agent may have it.
        case filesHandedOverAgain
        /// A prompt leaves before its pictures are read.
        case promptBeforePictures
        /// A sealed message that had to wait for its key has no files.
        case sealedFilesForgotten

        /// A prompt goes to the next process when its process dies.
        case promptResent
        /// Text behind the end of its message is accepted.
        case deltaAfterEnd

        /// A prompt leaves again while its fate is unknown.
        case promptRepeatedInDoubt
        /// An ask of a program is answered twice.
        case askAnsweredTwice
        /// A yes that waits for the journal leaves behind the Stop.
        case yesBehindStop
        /// The next process of the agent begins a stopped run again.
        case stopForgottenOverLoss
        /// The messages of one chat go to the conversation of another.
        case chatsMixedUp

        /// An ask of a helper in the background belongs to the open turn.
        case helpersAskInTheTurn
        /// A turn that the session began by itself does not end with its process.
        case ownTurnOutlivesProcess

        /// A ring that has lost frames counts as complete.
        case overflowTakenWhole
        /// A chat shows a permission of a session that no chat has.
        case strangersPermission
        /// Text behind a hole is appended.
        case holeAppended
        /// Another client's answer within our run counts as ours.
        case othersWordsTaken

        /// A stop counts as done though the run has not begun or waits between two attempts.
        case earlyStopForgotten
        /// An attempt that failed after some words is the answer, and the next attempt is not shown.
        case retryNotShown
        /// An option is sent as its value, which the server reads as a part of a label.
        case answeredByValue
        /// No session of a resting chat makes room for another.
        case placeKept

        /// A prompt goes to a thread with a running turn.
        case busyThreadSteered
        /// An approval is identified by the number of its request.
        case approvalByNumber
        /// An interrupted turn's text comes from its record.
        case interruptedFromHistory

        /// The text comes from `chat`, which joins and omits parts.
        case textFromChat
        /// A history's row is identified by its bare key alone.
        case answerNotFound
        /// A model call that failed counts as the end of an answer.
        case errorTakenForEnd
        /// A run without a row is given up, though its gateway is the same.
        case livingRunGivenUp
        /// A message that has run leaves again.
        case sentAgainThoughItRan
        /// The run that begins next in a busy chat is the answer, whoever asked for it.
        case foreignRunAdopted
        /// The run with our message's words counts as another client's.
        case ownRunNotAdopted

        /// A removal that a call reports leaves the agent working.
        case removalUnheard
        /// The relay's own reasons to cancel end runs that the bridge did not begin.
        case reasonIgnored
        /// A question that the relay refused to show counts as read.
        case refusedQuestionStays
        /// A prompt that pi does not accept within seconds ends its process, even while pi compacts.
        case compactingKilled
        /// A Stop before the loop's beginning counts as done.
        case stopForgottenBeforeLoop
        /// The model gets the phone's word for a level.
        case effortVerbatim
        /// This machine's clock alone decides the age of messages.
        case clockIgnored
        /// A long tool call counts as silence.
        case toolAlarmed
        /// The bubble keeps its notice of silence, though the run continues.
        case statusAfterText
        /// A new ask under the name of a settled one counts as the settled one.
        case askRepeatedUnknown

        /// A message from before the card refuses it.
        case earlierWordsRefuse
        /// A message that begins with a yes allows.
        case wordsAllow
        /// Words refuse the oldest card, of whatever chat.
        case wordsRefuseOldest
        /// The next process hands over words again that were handed over.
        case wordsSentAgain

        /// A notice contains the words of a sealed chat.
        case sealedWordsInNotice

        /// Faults that the generated courses of the key ring find (`HostileRelay` in its tests); no whole world reaches them.
        package static let ofKeyRing: [PlantedFault] = [
            .unpinnedGranted, .keyAfterEnd, .bookForgotten, .lostKeysForgotten, .keyWithoutRevocation,
            .replacedKeyTaken,
            .ownChatForgotten, .openKeyForgotten, .envelopeTakenTwice, .pairedAnew, .movedIntoTheOpen, .olderBookTaken,
            .keysWithoutEnd,
        ]
        /// Faults in the engine of agents that are a child of each chat, in any dialect.
        package static let ofEngine: [PlantedFault] = [
            .promptRepeatedInDoubt, .askAnsweredTwice, .yesBehindStop, .stopForgottenOverLoss, .chatsMixedUp,
        ]
        /// Faults that tests of their own find; a world rarely reaches them.
        package static let ofConversations: [PlantedFault] = [
            .earlyStopForgotten, .statusAfterText,
        ]
        /// Faults that a seeded world must find.
        package static var ofWorlds: [PlantedFault] {
            allCases.filter { !(ofKeyRing + ofConversations).contains($0) }
        }

        /// The fault that is planted for the running task; one at a time.
        @TaskLocal package static var planted: PlantedFault?

        package var isPlanted: Bool { Self.planted == self }
    }
#endif
