// What only the tests of this repository use; it is not part of the published package.
export type {
  AuthAnswer,
  AuthEndpoint,
  AuthParams,
  AuthRecord,
  AuthServerOptions,
  ClientAuthMethod,
  LabClient,
  LabPlace,
  LabProvider,
} from "./auth-server/options.js";
export { Canary, canary, logIn, visit } from "./auth-server/peers.js";
export {
  type Admission,
  ProtectedServer,
  type ProtectedServerOptions,
  protectedServer,
  type Turned,
} from "./auth-server/protected-server.js";
export { AuthServer, authServer, type HeldEndpoint } from "./auth-server/server.js";
export type { Permit, TokenFacts, TokenState } from "./auth-server/tokens.js";
export type { Fault, FormatName, OfferedTool } from "./fake-provider/format.js";
export type { FakeModel } from "./fake-provider/provider.js";
export {
  FakeProvider,
  type FakeProviderOptions,
  fakeProvider,
  type Refusal,
  type ReplyScript,
  type SchemaFaults,
} from "./fake-provider/provider.js";
export {
  type Answer,
  type AnswerPart,
  type AnswerUsage,
  answerText,
  answerToolCall,
  type ContentPart,
  type Finish,
  failWith,
  type Gate,
  gate,
  type Incident,
  type Piecewise,
  type ProviderReply,
  type ProviderRequest,
} from "./fake-provider/reply.js";
export { type Fault as WorldFault, FaultyWorld, FITTING, type Operation, type PlannedFault } from "./faulty-world.js";
export { ownAddress, type Watched, watchEventLoop } from "./machine.js";
export { MemoryGrants } from "./memory-grants.js";
