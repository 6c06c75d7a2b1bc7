# The servers of the stack in one image, for a test without a registry: Debian's, nats-server and versitygw.
FROM payfold-test/debian
COPY nats-server versitygw /usr/local/bin/
RUN ln -s /bin/busybox /usr/local/bin/wget && ln -s /usr/bin/prometheus-alertmanager /usr/local/bin/alertmanager \
    && install -d -o postgres -m 700 /var/lib/postgresql/data && install -d -o nobody /prometheus /alertmanager
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
