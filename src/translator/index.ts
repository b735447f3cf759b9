// The entry of the translator: ACP over stdio on one side, a gateway on the other.
export { ownServers } from "./editor-servers.js";
export { gatewayEnvironment, sessionEnvironment } from "./environment.js";
export { localGateway } from "./local-gateway.js";
export { checkGatewayUrl, remoteLink } from "./target.js";
export { Translator, type TranslatorOptions } from "./translator.js";
