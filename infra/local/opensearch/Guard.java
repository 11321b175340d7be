package palimpsest;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.List;
import java.util.function.UnaryOperator;
import org.opensearch.client.node.NodeClient;
import org.opensearch.common.settings.Setting;
import org.opensearch.common.settings.Settings;
import org.opensearch.common.util.concurrent.ThreadContext;
import org.opensearch.core.rest.RestStatus;
import org.opensearch.plugins.ActionPlugin;
import org.opensearch.plugins.Plugin;
import org.opensearch.rest.BytesRestResponse;
import org.opensearch.rest.RestChannel;
import org.opensearch.rest.RestHandler;
import org.opensearch.rest.RestRequest;

/** Stands before every route of the server and refuses web pages, foreign host names and who lacks the credential. */
public final class Guard extends Plugin implements ActionPlugin {
    private static final Setting<String> HOST = Setting.simpleString("guard.host", Setting.Property.NodeScope);
    private static final Setting<String> AUTHORIZATION =
            Setting.simpleString("guard.authorization", Setting.Property.NodeScope, Setting.Property.Filtered);

    private final String host;
    private final byte[] authorization;

    public Guard(Settings settings) {
        host = HOST.get(settings);
        authorization = bytes(AUTHORIZATION.get(settings));
        if (host.isEmpty() || authorization.length == 0) {
            throw new IllegalArgumentException("guard.host and guard.authorization must be set");
        }
    }

    @Override
    public List<Setting<?>> getSettings() {
        return List.of(HOST, AUTHORIZATION);
    }

    @Override
    public UnaryOperator<RestHandler> getRestHandlerWrapper(ThreadContext context) {
        return Guarded::new;
    }

    private boolean mayPass(RestRequest request) {
        boolean isFromPage = request.getHeaders().keySet().stream()
                .map(name -> name.toLowerCase(java.util.Locale.ROOT))
                .anyMatch(name -> name.equals("origin") || name.startsWith("sec-fetch-"));
        List<String> hosts = values(request, "Host");
        List<String> credentials = values(request, "Authorization");
        return !isFromPage
                && hosts.equals(List.of(host))
                && credentials.size() == 1
                && MessageDigest.isEqual(bytes(credentials.get(0)), authorization);
    }

    private static List<String> values(RestRequest request, String name) {
        List<String> found = request.getAllHeaderValues(name);
        return found == null ? List.of() : found;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private final class Guarded extends RestHandler.Wrapper {
        Guarded(RestHandler handler) {
            super(handler);
        }

        @Override
        public void handleRequest(RestRequest request, RestChannel channel, NodeClient client) throws Exception {
            if (mayPass(request)) {
                super.handleRequest(request, channel, client);
            } else {
                channel.sendResponse(new BytesRestResponse(RestStatus.FORBIDDEN, "This server answers its own stack."));
            }
        }
    }
}
