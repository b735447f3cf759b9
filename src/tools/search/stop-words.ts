// English words that say nothing about a tool: function words, and those people wrap a request in when they chat.

const FUNCTION_WORDS = `
a about above after again against all also am an and another any anybody anyone anything are arent around as at away be
because been before being below between both but by can cannot cant could couldnt d did didnt do does doesnt doing dont
down during each either else etc even ever every everyone everything few for from further had hadnt has hasnt have havent
having he her here hers herself him himself his how however i id if ill im in instead into is isnt it its itself ive just
ll m many may me might mine more most much must mustnt my myself neither no nobody none nor not nothing now of off often on
once one only onto or other others ought our ours ourselves out over own per perhaps quite rather re s same shall she
should shouldnt since so some somebody someone something somewhere such t than that thats the their theirs them themselves
then there theres these they theyre this those though through thus to too toward towards under until up upon us ve very via
was wasnt we were werent weve what whatever whats when whenever where whereas wherever whether which while who whoever whom
whose why will with within without wont would wouldnt yes yet you youd youll your youre yours yourself yourselves youve`;

const CHAT_WORDS = `
able actually additionally almost already always amazing appreciate ask asked asking assist assistance awesome back based
basically believe best better bit came certain come coming cool could curious currently dear different excited finally
first firstly furthermore gave get gets getting give given gives giving go goes going gonna good got great guess hello help
helped helping helpful helps hey hi hope include included includes including interested keep kind kindly know lastly let
lets like liked little look looking lot lots love make makes making maybe moreover need needed needing needs next nice ok
okay perfect plan planning please possible possibly provide provided provides providing put really recently regarding
related right said say second secondly several should show showing shows sort specific specifically still suppose sure take
taken taking tell telling thank thanks thing things think today tried try trying use used useful uses using various
wanna want wanted wanting wants way ways well wish wonder wondering`;

export const STOP_WORDS: ReadonlySet<string> = new Set(`${FUNCTION_WORDS} ${CHAT_WORDS}`.trim().split(/\s+/u));
