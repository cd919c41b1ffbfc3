import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;

/**
 * Iceberg's REST catalog on one address: {@code java IcebergCatalog.java HOST PORT NAME=VALUE...} with the properties of
 * the catalog behind it.
 *
 * <p>The server that Iceberg has for tests listens on all addresses of the machine.
 */
public final class IcebergCatalog {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> properties = new HashMap<>();
        for (int place = 2; place < arguments.length; place++) {
            String[] property = arguments[place].split("=", 2);
            properties.put(property[0], property[1]);
        }
        var adapter = new RESTCatalogAdapter(CatalogUtil.buildIcebergCatalog("catalog", properties, null));
        var context = new ServletContextHandler();
        context.addServlet(new ServletHolder(new RESTCatalogServlet(adapter)), "/*");
        var server = new Server(new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1])));
        server.setHandler(context);
        server.start();
        server.join();
    }
}
