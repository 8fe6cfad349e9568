# docker build -t kafka-highwater . && docker run --rm -v "$PWD:/work" kafka-highwater check specs
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel .

FROM python:3.12-slim
# Machine code for any processor of the architecture, so that the image brings it along.
ENV NUMBA_CPU_NAME=generic XDG_CACHE_HOME=/var/cache
COPY --from=wheel /wheel /wheel
# The claims have states of one word up to many: code is made for each width, and kept.
RUN pip install --no-cache-dir /wheel/*.whl \
    && rm -r /wheel \
    && highwater check gallery:elections gallery:truncation gallery:kraft_reference "gallery:partition/truncation/*" \
        "gallery:controller/deletion/*" --no-trace \
    && useradd --uid 1000 --create-home checker
USER 1000
WORKDIR /work
ENTRYPOINT ["highwater"]
CMD ["--help"]
