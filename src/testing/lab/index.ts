// What only the tests of this repository use; it is not part of the published package.

export { MemoryGrants } from "../../mcp/index.js";
export type { AuthServerOptions } from "./auth-server/options.js";
export { canary, logIn, visit } from "./auth-server/peers.js";
export { ProtectedServer, type ProtectedServerOptions, protectedServer } from "./auth-server/protected-server.js";
export { AuthServer, authServer, type HeldEndpoint } from "./auth-server/server.js";
export type { Fault, FormatName, OfferedTool } from "./fake-provider/format.js";
export { FakeProvider, type FakeProviderOptions, fakeProvider } from "./fake-provider/provider.js";
export {
  type Answer,
  type AnswerPart,
  type AnswerUsage,
  answerText,
  answerToolCall,
  type ContentPart,
  failWith,
  gate,
  type ProviderReply,
  type ProviderRequest,
} from "./fake-provider/reply.js";
export { ownAddress, watchEventLoop } from "./machine.js";
